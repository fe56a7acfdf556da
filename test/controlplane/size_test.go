package controlplane_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/controlplane"
)

// TestLargeTrainJobsAreRefused checks that the rule oversized-job refuses large TrainJobs. Without this rule, the API
// server would store most of the content of a large TrainJob several times: in the TrainJob, the JobSet, the Jobs and
// the pods.
func TestLargeTrainJobsAreRefused(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		applyPolicies(t, cp, v)
		editor := clientAs(t, cp, "eve", "vision", "system:authenticated")
		huge := strings.Repeat("x", 1<<20)
		for name, pod := range map[string]string{
			"files of a volume": `{volumes: [{name: a, configMap: {items: [` + strings.Repeat(`{key: a, path: b},`, 40000) + `{key: a, path: b}]}}]}`,
			"a mount path":      `{initContainers: [{name: preflight, volumeMounts: [{name: a, mountPath: ` + huge + `}]}]}`,
			"a key of a secret": `{initContainers: [{name: preflight, env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: ` + huge + `}}}]}]}`,
			"a path of a file":  `{volumes: [{name: a, projected: {sources: [{secret: {items: [{key: a, path: ` + huge + `}]}}]}}]}`,
			"a variable":        `{initContainers: [{name: preflight, env: [{name: A, value: ` + huge + `}]}]}`,
		} {
			expectRefusal(t, name, "oversized-job", true, editor.Create(t.Context(), withPatch(t, v, pod), client.DryRunAll))
		}
		bells := suspendedJob("large")
		mergeFields(bells.Object, map[string]any{"spec": map[string]any{"trainer": map[string]any{"args": []any{strings.Repeat("\a", 30000)}}}})
		expectRefusal(t, "control characters", "oversized-job", true, editor.Create(t.Context(), bells, client.DryRunAll))

		existing := createSuspended(t, editor)
		managers := `{"metadata": {"managedFields": [{"manager": "m", "operation": "Apply", "apiVersion": "trainer.kubeflow.org/v1alpha1", "fieldsType": "FieldsV1",
			"fieldsV1": {"f:metadata": {"f:annotations": {"f:` + huge[:140000] + `": {}}}}}]}}`
		expectRefusal(t, "a large list of managers", "oversized-job", true,
			editor.Patch(t.Context(), existing.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(managers)), client.DryRunAll))
		change := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"a": "`+strings.Repeat("<", 22000)+`"}}}`))
		expectRefusal(t, "an annotation for an existing TrainJob", "oversized-job", true, editor.Patch(t.Context(), existing, change, client.DryRunAll))
	})
}

// withPatch returns a suspended TrainJob that patches the pod spec of nodes with the YAML in "podSpec".
func withPatch(t *testing.T, v version, podSpec string) *unstructured.Unstructured {
	t.Helper()
	field, patch := "podTemplateOverrides", `{targetJobs: [{name: node}], spec: `+podSpec+`}`
	if v.trainer != "trainer-2.1" {
		field, patch = "runtimePatches", `{manager: acme.io/a, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: `+podSpec+`}}}}]}}}}`
	}
	job := suspendedJob("large")
	job.Object["spec"].(map[string]any)[field] = []any{decodeYAML(t, patch)}
	return job
}

func decodeYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func joinNumbers(n int, format string) string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(format, i+1))
	}
	return strings.Join(items, ", ")
}

// TestManyFieldsAreCheap submits TrainJobs with different numbers of fields. Some TrainJobs have almost as many fields
// as the policy allows, and the largest TrainJobs have as many fields as fit into a request. The test measures the CPU
// time that the API server needs for each TrainJob, with the policy and without the policy. The policy must add less
// than maxCPU to this time. If the policy did not limit the number of fields, it would need seconds to check a TrainJob
// with 40,000 labels.
func TestManyFieldsAreCheap(t *testing.T) {
	v := testedVersions[0]
	cp := v.start(t)
	applyPolicies(t, cp, v)
	for name, tc := range map[string]struct{ fields, refused string }{
		"40,000 labels":            {`metadata: {labels: {` + joinNumbers(40000, "a%d: b") + `}}`, "oversized-job"},
		"900 labels":               {`metadata: {labels: {` + joinNumbers(900, "a%d: b") + `}}`, ""},
		"900 annotations of Kueue": {`metadata: {annotations: {` + joinNumbers(900, "kueue.x-k8s.io/a%d: b") + `}}`, "unlisted-kueue-setting"},
		"1,000 owners":             {`metadata: {ownerReferences: [` + joinNumbers(1000, "{apiVersion: v1, kind: ConfigMap, name: a%d, uid: b}") + `]}`, "oversized-job"},
		"40,000 resources":         {`spec: {trainer: {resourcesPerNode: {limits: {` + joinNumbers(40000, "a.io/a%d: 1") + `}}}}`, "oversized-job"},
		"900 resources":            {`spec: {trainer: {resourcesPerNode: {limits: {` + joinNumbers(900, "a.io/a%d: 1") + `}}}}`, ""},
		"1,001 labels":             {`metadata: {labels: {` + joinNumbers(1001, "a%d: b") + `}}`, "oversized-job"},
		"30,000 empty sources":     {patchField(t, v, "{volumes: [{name: a, projected: {sources: ["+strings.Repeat("{}, ", 30000)+"]}}]}"), "oversized-job"},
		"900 empty sources":        {patchField(t, v, "{volumes: [{name: a, projected: {sources: ["+strings.Repeat("{}, ", 900)+"]}}]}"), ""},
		"40,000 node labels":       {patchField(t, v, "{nodeSelector: {"+joinNumbers(40000, "a%d: b")+"}}"), "oversized-job"},
		"900 node labels":          {patchField(t, v, "{nodeSelector: {"+joinNumbers(900, "a%d: b")+"}}"), "unlisted-node-label"},
	} {
		t.Run(name, func(t *testing.T) {
			job := suspendedJob("many")
			mergeFields(job.Object, decodeYAML(t, "{"+tc.fields+"}"))
			err := expectCheapPolicy(t, cp, func(user client.Client) error { return user.Create(t.Context(), job.DeepCopy(), client.DryRunAll) })
			expectRefusal(t, "creating the TrainJob", tc.refused, tc.refused != "", err)
		})
	}
	t.Run("updates of 40,000 labels", func(t *testing.T) { expectCheapUpdates(t, cp) })
}

// maxOrdinaryCPU is the maximum CPU time, in seconds, that the API server may spend on the policy for one ordinary
// TrainJob.
const maxOrdinaryCPU = 0.05

// TestOrdinaryTrainJobsAreCheap submits ordinary TrainJobs as an editor and as an exempt user, to whom the policy does
// not apply. For each of the two users, the test measures the mean CPU time that the API server needs for one TrainJob.
// The mean for the editor minus the mean for the exempt user may be at most maxOrdinaryCPU.
func TestOrdinaryTrainJobsAreCheap(t *testing.T) {
	v := testedVersions[0]
	cp := v.start(t)
	applyPolicies(t, cp, v)
	const jobs = 100
	cost := func(user client.Client) float64 {
		return measureCPU(t, cp, func() {
			for i := range jobs {
				job := withPatch(t, v, `{volumes: [{name: data, persistentVolumeClaim: {claimName: data}}], initContainers: [{name: preflight, env: [{name: A, value: b}]}]}`)
				mergeFields(job.Object, decodeYAML(t, `{spec: {trainer: {numNodes: 4, command: [mpirun, python3, train.py], env: [{name: EPOCHS, value: "3"}], resourcesPerNode: {limits: {cpu: 4, memory: 8Gi}}}}}`))
				job.SetName(fmt.Sprint("ordinary-", i))
				if err := user.Create(t.Context(), job, client.DryRunAll); err != nil {
					t.Fatal(err)
				}
			}
		}) / jobs
	}
	without := cost(clientAs(t, cp, exemptAccount, "system:masters"))
	with := cost(clientAs(t, cp, "eve", "vision", "system:authenticated"))
	t.Logf("CPU time of the API server for each TrainJob: %.1f ms with the policy, %.1f ms without it", with*1000, without*1000)
	if with-without > maxOrdinaryCPU {
		t.Errorf("the policy adds %.3f s of CPU time to a TrainJob, want at most %.3f s", with-without, maxOrdinaryCPU)
	}
}

// patchField returns the field "spec" of a TrainJob as YAML, with a patch for the pod spec of the
// nodes.
func patchField(t *testing.T, v version, podSpec string) string {
	t.Helper()
	spec, err := json.Marshal(withPatch(t, v, podSpec).Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	return "spec: " + string(spec)
}

// expectCheapUpdates changes a TrainJob with 40,000 labels, and checks that the policy refuses each change at a low
// cost. An exempt user creates the TrainJob with 40,000 labels, because the policy does not let other users create
// it. A cluster can contain a TrainJob with 40,000 labels if the TrainJob is older than the policy.
func expectCheapUpdates(t *testing.T, cp *controlplane.ControlPlane) {
	t.Helper()
	job := suspendedJob("many-labels")
	mergeFields(job.Object, decodeYAML(t, `{metadata: {labels: {`+joinNumbers(40000, "a%d: b")+`}}}`))
	kueue := clientAs(t, cp, exemptAccount, "system:masters")
	if err := kueue.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kueue.Delete(context.Background(), job); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	for change, rule := range map[string]string{
		`{"spec": {"suspend": false}}`:             "oversized-job", // the update adds an entry to managedFields
		`{"metadata": {"labels": {"b": "c"}}}`:     "oversized-job",
		`{"metadata": {"finalizers": ["a.io/a"]}}`: "oversized-job",
	} {
		err := expectCheapPolicy(t, cp, func(user client.Client) error {
			return user.Patch(t.Context(), job.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(change)), client.DryRunAll)
		})
		expectRefusal(t, change, rule, true, err)
	}
}

// expectCheapPolicy sends two equal requests. One request comes from an editor. The other request comes from a user who
// is exempt from the policy. expectCheapPolicy measures the API server's CPU time for each request. expectCheapPolicy
// then computes a difference: the lowest CPU time of the editor's requests minus the lowest CPU time of the exempt
// user's requests. If the difference is maxCPU or more, expectCheapPolicy sends both requests again. If the difference
// is still too large after ten attempts, the test fails. expectCheapPolicy returns the error that the editor gets.
func expectCheapPolicy(t *testing.T, cp *controlplane.ControlPlane, send func(client.Client) error) (refused error) {
	t.Helper()
	editor, kueue := clientAs(t, cp, "eve", "vision", "system:authenticated"), clientAs(t, cp, exemptAccount, "system:masters")
	var with, without []float64
	for range 10 {
		without = append(without, measureCPU(t, cp, func() { _ = send(kueue) }))
		with = append(with, measureCPU(t, cp, func() { refused = send(editor) }))
		if slices.Min(with) < slices.Min(without)+maxCPU {
			return refused
		}
		time.Sleep(300 * time.Millisecond)
	}
	t.Errorf("the request costs the API server %v s of CPU time with the policy, and %v s without it; want at most %v s more", with, without, maxCPU)
	return refused
}

func mergeFields(into, from map[string]any) {
	for key, value := range from {
		below, isMap := value.(map[string]any)
		if existing, exists := into[key].(map[string]any); isMap && exists {
			mergeFields(existing, below)
			continue
		}
		into[key] = value
	}
}
