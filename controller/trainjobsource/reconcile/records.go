package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
	"github.com/trainyard/trainyard/controller/trainjobsource/record"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
)

// records is the set of the records of all TrainJobSources of a namespace.
type records struct {
	own       plan.Record
	configMap *corev1.ConfigMap      // the ConfigMap of "own"; nil if it does not exist yet
	others    map[string]plan.Record // by the name of the TrainJobSource
	// otherMaps has the same keys as the field "others": the names of the TrainJobSources. Each value is the ConfigMap
	// that stores the record of the TrainJobSource.
	otherMaps map[string]*corev1.ConfigMap
}

// recordName returns the name of the ConfigMap of a record. The names of namespaces and TrainJobSources contain no dots, so
// the ConfigMaps of different TrainJobSources have different names.
func recordName(s Source) string { return "trainjobsource." + s.Namespace + "." + s.Name }

// These constants limit the number and the total size of the records of a namespace. Records of deleted TrainJobSources
// stay, so they count too. Without limits, a tenant could fill the cluster's storage and the controller's memory by
// creating and deleting TrainJobSources.
const (
	maxRecords     = 100
	maxRecordBytes = 16 << 20
)

// runBytes is the largest size of a run in a record, in bytes.
const runBytes = 500

// checkRoom checks plans that start or replace runs. It returns an error if the new record of such a plan would exceed
// a limit. The limits apply to the record itself, and to all records of the namespace together. The plan p deletes the
// active runs of the jobs in p.Replaced. A later plan adds the new runs of these jobs to the record. For each of these
// jobs, checkRoom therefore already counts the size of one new run (runBytes). After an error of checkRoom, the round
// neither starts nor replaces runs. The round still deletes old runs, and the runs of removed jobs, so that the record
// can become smaller.
func (all records) checkRoom(namespace string, p plan.Plan) error {
	if len(p.Create)+len(p.Replaced) == 0 {
		return nil
	}
	data, err := record.Encode(p.Record.Confirmed(p.Create))
	later := len(p.Replaced) * runBytes
	if err == nil {
		err = record.CheckRoom(data, later)
	}
	if err != nil {
		return err
	}
	if all.configMap == nil && len(all.others) >= maxRecords {
		return fmt.Errorf("namespace %s has %d records of TrainJobSources, which is the maximum: ask an admin of the cluster to delete records of deleted TrainJobSources (each record is a ConfigMap in namespace %s)", namespace, len(all.others), v1alpha1.SystemNamespace)
	}
	total := record.Size(data) + later
	for _, other := range all.otherMaps {
		total += record.Size(other.Data)
	}
	if total > maxRecordBytes {
		return fmt.Errorf("the records of all TrainJobSources of namespace %s would have more than %d MiB: delete TrainJobs that have ended, or lower spec.historyLimits", namespace, maxRecordBytes>>20)
	}
	return nil
}

// readRecords reads the records of all TrainJobSources of a namespace. The records are in v1alpha1.SystemNamespace, where
// tenants cannot change them.
func (r *Reconciler) readRecords(ctx context.Context, s Source) (records, error) {
	var list corev1.ConfigMapList
	labels := client.MatchingLabels{v1alpha1.TenantLabel: s.Namespace}
	if err := r.Records.List(ctx, &list, client.InNamespace(v1alpha1.SystemNamespace), labels, client.HasLabels{trainjobs.SourceLabel}); err != nil {
		return records{}, fmt.Errorf("listing records: %w", err)
	}
	all := records{own: plan.Record{}, others: map[string]plan.Record{}, otherMaps: map[string]*corev1.ConfigMap{}}
	for i := range list.Items {
		found := &list.Items[i]
		read, err := record.Decode(found.Data)
		if err != nil {
			return records{}, fmt.Errorf("reading ConfigMap %s: %w", found.Name, err)
		}
		if found.Name == recordName(s) {
			all.own, all.configMap = read, found
			continue
		}
		source := found.Labels[trainjobs.SourceLabel]
		all.others[source], all.otherMaps[source] = read, found
	}
	return all, nil
}

// findTaken returns the jobs that belong to other TrainJobSources. In the returned map, the key is the name of a job,
// and the value is the name of its TrainJobSource. If a job in Git belongs to a deleted TrainJobSource, findTaken first
// releases all jobs of the deleted TrainJobSource (see the method "release"). If no run of a released job is active,
// the returned map does not contain the job. If a run of a released job is still active, the returned map contains the
// job.
func (r *Reconciler) findTaken(ctx context.Context, s Source, all records, in plan.Input) (map[string]string, error) {
	active := func(name string) bool { return in.TrainJobs[name].Phase == plan.Active }
	owners := map[string]bool{}
	for job, owner := range all.taken(active) {
		if _, wanted := in.Jobs[job]; wanted {
			owners[owner] = true
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(owners)) {
		exists, err := r.Exists(ctx, s.Namespace, owner)
		if err != nil {
			return nil, fmt.Errorf("looking for TrainJobSource %s: %w", owner, err)
		}
		if exists {
			continue
		}
		if err := r.release(ctx, s, all, owner); err != nil {
			return nil, err
		}
	}
	return all.taken(active), nil
}

// release is called for a deleted TrainJobSource. The method marks all jobs in the record of this TrainJobSource as
// removed. Other TrainJobSources can then run these jobs. The record keeps the runs of the deleted TrainJobSource, so
// that no version runs twice if the TrainJobSource is created again. If s.DryRun is true, the record in the cluster
// stays unchanged.
func (r *Reconciler) release(ctx context.Context, s Source, all records, owner string) error {
	for job, history := range all.others[owner] {
		if history.Removed == 0 {
			history.Removed = r.Now().Unix()
			all.others[owner][job] = history
		}
	}
	data, err := record.Encode(all.others[owner])
	if err != nil {
		return err
	}
	changed := all.otherMaps[owner].DeepCopy()
	if s.DryRun || maps.Equal(changed.Data, data) {
		return nil
	}
	changed.Data = data
	if err := r.Records.Update(ctx, changed); err != nil {
		return fmt.Errorf("writing ConfigMap %s: %w", changed.Name, err)
	}
	return nil
}

// taken is a method that finds the jobs that belong to other TrainJobSources, and not to the TrainJobSource of the
// current round. In the returned map, the key is the name of a job, and the value is the name of its TrainJobSource. A
// job belongs to the first TrainJobSource that had the job in Git. The job stays with this TrainJobSource while the
// TrainJobSource has the job in Git, or while a run of the job is active. The argument "active" is a function that
// returns true if a TrainJob has not ended.
func (all records) taken(active func(name string) bool) map[string]string {
	taken := map[string]string{}
	for source, other := range all.others {
		for job, history := range other {
			if own, known := all.own[job]; known && own.Removed == 0 {
				continue
			}
			runs := slices.ContainsFunc(history.Runs, func(run plan.Run) bool { return active(run.Name) })
			if history.Removed == 0 || runs {
				taken[job] = source
			}
		}
	}
	return taken
}

// writeRecord writes the record of the round's TrainJobSource if the record has changed. The result "wrote" reports
// whether the record was written. writeRecord fails if somebody else has created or changed the ConfigMap of the record
// since the round read it.
func (r *Reconciler) writeRecord(ctx context.Context, s Source, before *records, after plan.Record) (wrote bool, err error) {
	data, err := record.Encode(after)
	if err != nil {
		return false, err
	}
	if before.configMap == nil && len(data) == 0 || before.configMap != nil && maps.Equal(before.configMap.Data, data) {
		return false, nil
	}
	var written *corev1.ConfigMap
	if before.configMap != nil {
		written = before.configMap.DeepCopy()
		written.Data = data
		err = r.Records.Update(ctx, written)
	} else {
		written = &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: v1alpha1.SystemNamespace, Name: recordName(s),
				Labels: map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedBy, v1alpha1.TenantLabel: s.Namespace, trainjobs.SourceLabel: s.Name},
			},
			Data: data,
		}
		err = r.Records.Create(ctx, written)
	}
	if err != nil {
		return false, fmt.Errorf("writing ConfigMap %s: %w", recordName(s), err)
	}
	before.configMap = written
	return true, nil
}
