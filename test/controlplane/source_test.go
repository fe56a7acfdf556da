package controlplane_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/crds"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

// TestSource runs the scripts in testdata/source, which call `trainyard source` against a real API server. Each
// script has its own namespace with the name of the script. $KUBECONFIG selects this namespace. TRAINYARD_UPDATE=1
// rewrites the expected output.
func TestSource(t *testing.T) {
	cp := controlplane.Start(t, controlplane.CRDsOnly(), controlplane.Alone("TestSource"))
	crd := installSources(t, cp)
	cluster := sourceCluster{cp, repo.Build(t)}
	if code, out, messages := cluster.run(t, "list", "-A"); code != 0 || out != "" || messages != "The cluster has no TrainJobSources\n" {
		t.Errorf("exit code %d, output %q, messages %q, want that there are no TrainJobSources", code, out, messages)
	}
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:                 "testdata/source",
			UpdateScripts:       os.Getenv("TRAINYARD_UPDATE") != "",
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
			Setup:               cluster.setUp,
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"exits":      cluster.exits,
				"create":     cluster.create,
				"controller": cluster.runController,
				"annotated":  cluster.checkAnnotation,
			},
		})
	})
	t.Run("denied by a policy", func(t *testing.T) { cluster.testHostileDenial(t) })
	t.Run("not installed", func(t *testing.T) {
		if err := cp.Client().Delete(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
		controlplane.Eventually(t, func(context.Context) error {
			code, _, messages := cluster.run(t, "list", "-A")
			const want = "trainyard: the cluster has no TrainJobSources: the CustomResourceDefinition trainjobsources.trainyard.dev is not installed\n"
			if code != 1 || messages != want {
				return fmt.Errorf("exit code %d, want 1 and the message %q, got %q", code, want, messages)
			}
			return nil
		})
	})
}

// testHostileDenial checks that trainyard replaces control characters in the message of an admission policy, so that
// the message cannot control the terminal.
func (c sourceCluster) testHostileDenial(t *testing.T) {
	t.Helper()
	objects, err := controlplane.ReadObjects("testdata/source-denial.yaml")
	if err != nil {
		t.Fatal(err)
	}
	namespace := c.cp.Namespace(t)
	source := &v1alpha1.TrainJobSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "jobs"}}
	source.Spec.URL = "https://git.example.com/team/jobs.git"
	if err := errors.Join(c.cp.Client().Create(t.Context(), source), c.cp.Apply(t.Context(), objects...)); err != nil {
		t.Fatal(err)
	}
	controlplane.Eventually(t, func(context.Context) error { // a new policy needs some time
		code, _, messages := c.run(t, "sync", "jobs", "--wait=false", "-n", namespace)
		if code != 5 || !strings.HasSuffix(messages, "denied request: not �today\n") {
			return fmt.Errorf("exit code %d, want 5 and a printable message, got %q", code, messages)
		}
		return nil
	})
}

func installSources(t *testing.T, cp *controlplane.ControlPlane) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := errors.Join(yaml.Unmarshal(crds.TrainJobSource, crd), v1alpha1.AddToScheme(cp.Client().Scheme()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(cp.Config(), envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil {
		t.Fatal(err)
	}
	return crd
}

// sourceCluster implements the commands that the scripts in testdata/source use in addition to testscript's own
// commands. An example is the command "create".
type sourceCluster struct {
	cp      *controlplane.ControlPlane
	program string // the path of trainyard
}

func (c sourceCluster) run(t *testing.T, args ...string) (code int, out, messages string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(c.program, append(append([]string{"source"}, args...), "--kubeconfig", c.cp.Kubeconfig())...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// exits implements the script command "exits", which checks the exit code of another command.
// Usage: exits CODE COMMAND ARG...
func (c sourceCluster) exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	code, exit := 0, (*exec.ExitError)(nil)
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// setUp creates the namespace of a script, and two kubeconfigs: one of an administrator, and one of a user without
// rights.
func (c sourceCluster) setUp(env *testscript.Env) error {
	name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	env.Setenv("NAMESPACE", name)
	env.Setenv("PATH", filepath.Dir(c.program)+string(filepath.ListSeparator)+env.Getenv("PATH"))
	env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "kubeconfig"))
	err := c.cp.Client().Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return errors.Join(err, c.writeKubeconfig(env.Getenv("KUBECONFIG"), name, ""), c.writeKubeconfig(filepath.Join(env.WorkDir, "stranger"), name, "stranger"))
}

func (c sourceCluster) writeKubeconfig(path, namespace, user string) error {
	config, err := clientcmd.LoadFromFile(c.cp.Kubeconfig())
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	for _, kubeContext := range config.Contexts {
		kubeContext.Namespace = namespace
	}
	for _, info := range config.AuthInfos {
		info.Impersonate = user
	}
	return clientcmd.WriteToFile(*config, path)
}

// create implements the script command "create", which reads TrainJobSources from a file, creates
// them on the API server, and sets their status. Usage: create FILE
func (c sourceCluster) create(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: create FILE")
	}
	ts.Check(upstream.EachDocument([]byte(ts.ReadFile(args[0])), func(document []byte) error {
		source := &v1alpha1.TrainJobSource{}
		if err := yaml.UnmarshalStrict(document, source); err != nil {
			return err
		}
		source.Namespace = ts.Getenv("NAMESPACE")
		status := source.Status
		if err := c.cp.Client().Create(context.Background(), source); err != nil {
			return err
		}
		source.Status = status
		return c.cp.Client().Status().Update(context.Background(), source)
	}))
}

// runController implements the script command "controller", which plays the role of trainyard-controller in the
// background. The command waits until a fetch of the TrainJobSource NAME is requested. The command then replaces the
// status of NAME by the status of the TrainJobSource OTHER. It also sets status.lastSync of NAME to the time in the
// request. Usage: controller NAME OTHER
func (c sourceCluster) runController(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: controller NAME OTHER")
	}
	result := c.read(ts, args[1]).Status
	before := c.read(ts, args[0]).Annotations[v1alpha1.SyncAnnotation]
	handled := make(chan error, 1)
	go func() { handled <- c.handleSync(ts.Getenv("NAMESPACE"), args[0], before, result) }()
	ts.Defer(func() { ts.Check(<-handled) })
}

func (c sourceCluster) handleSync(namespace, name, before string, result v1alpha1.TrainJobSourceStatus) error {
	for range 600 {
		source := &v1alpha1.TrainJobSource{}
		if err := c.cp.Client().Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, source); err != nil {
			return err
		}
		if value := source.Annotations[v1alpha1.SyncAnnotation]; value != before {
			if _, err := time.Parse(time.RFC3339Nano, value); err != nil {
				return fmt.Errorf("the value of %s is not a time: %w", v1alpha1.SyncAnnotation, err)
			}
			source.Status = result
			source.Status.LastSync = value
			return c.cp.Client().Status().Update(context.Background(), source)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("nobody requested a fetch of %s/%s", namespace, name)
}

// checkAnnotation implements the script command "annotated", which checks that an annotation of a TrainJobSource is a
// time. Usage: [!] annotated NAME KEY
func (c sourceCluster) checkAnnotation(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] annotated NAME KEY")
	}
	value := c.read(ts, args[0]).Annotations[args[1]]
	if _, err := time.Parse(time.RFC3339Nano, value); (err != nil) != neg {
		ts.Fatalf("the annotation %s of %s is %q", args[1], args[0], value)
	}
}

func (c sourceCluster) read(ts *testscript.TestScript, name string) *v1alpha1.TrainJobSource {
	source := &v1alpha1.TrainJobSource{}
	ts.Check(c.cp.Client().Get(context.Background(), client.ObjectKey{Namespace: ts.Getenv("NAMESPACE"), Name: name}, source))
	return source
}
