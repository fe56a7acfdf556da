package trainjobsource

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
	"github.com/trainyard/trainyard/policies/guard"
)

// judge evaluates the platform's admission rules for all jobs of the commit, and stores the violations in r.denied. The
// API server evaluates the same rules, but only when a TrainJob is created or changed. judge finds a violation earlier,
// while the job still waits for its start. The status reports the violation with the file and the line of the job. If
// the API server admits a job in spite of a violation, the method dropWarnings removes the violation from r.denied.
func (r *round) judge(ctx context.Context) bool {
	rules, err := r.readRules(ctx)
	if err != nil {
		return r.fail(failure{reason: v1alpha1.ReasonApplyFailed, message: err.Error()})
	}
	r.denied = map[string]string{}
	if rules == nil {
		return true
	}
	for _, job := range r.commit.tree.Jobs {
		if message := rules.denial(job); message != "" {
			r.denied[job.Name()] = message
		}
	}
	r.dropWarnings(ctx)
	return true
}

// rules are the admission rules of a tenant.
type rules struct {
	reader     guard.Reader
	parameters guard.Parameters
	user       string // the ServiceAccount that creates the TrainJobs
}

// readRules reads the admission rules for the namespace of the TrainJobSource from a ConfigMap. readRules returns nil
// if the namespace belongs to no tenant, or if the platform has no admission rules.
func (r *round) readRules(ctx context.Context) (*rules, error) {
	parameters := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: v1alpha1.TenantObjectName(r.source.Namespace)}
	if err := r.Reader.Get(ctx, key, parameters); apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there are no rules, which is no error
	} else if err != nil {
		return nil, fmt.Errorf("reading the admission rules for namespace %s: %w", r.source.Namespace, err)
	}
	read, err := guard.ReadParameters(parameters.Data)
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", key, err)
	}
	reader, err := guard.ReaderFor(parameters.Data["trainer"])
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", key, err)
	}
	return &rules{reader, read, userName(r.source.Namespace, r.source.Spec.ServiceAccountName)}, nil
}

// denial returns the reason why the rules deny a job, or an empty string if the job is allowed.
func (r *rules) denial(job decode.Job) string {
	denials, invalid := r.reader.Check(guard.Request{User: r.user, TrainJob: job.Object.Object}, r.parameters)
	var messages []string
	for _, err := range invalid {
		messages = append(messages, err.Error())
	}
	for _, d := range denials {
		messages = append(messages, d.String())
	}
	return strings.Join(messages, "; ")
}
