package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TrainJobSource runs the TrainJobs of a Git repository in the namespace of the TrainJobSource.
//
// A TrainJob runs to its end, and its spec cannot be changed. A change in Git therefore starts a new run: another
// TrainJob with the changed spec.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tjs,categories=trainyard
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Jobs",type=integer,JSONPath=`.status.summary.jobs`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.summary.active`
// +kubebuilder:printcolumn:name="Commit",type=string,JSONPath=`.status.applied.commit`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && size(self.metadata.name) <= 63",message="the name must consist of at most 63 lowercase letters, digits and hyphens, because it is the value of a label"
type TrainJobSource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the TrainJobs are, and how changes in Git change the cluster.
	// +required
	Spec TrainJobSourceSpec `json:"spec"`
	// status contains the commit that was applied last, and the state of each job. In a new object,
	// observedGeneration is -1, so that tools which wait for an object see that the controller has not handled it yet.
	// +kubebuilder:default={"observedGeneration":-1}
	// +optional
	Status TrainJobSourceStatus `json:"status,omitzero"`
}

// TrainJobSourceList is a list of TrainJobSources.
//
// +kubebuilder:object:root=true
type TrainJobSourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TrainJobSource `json:"items"`
}

// TrainJobSourceSpec holds the settings of a TrainJobSource.
type TrainJobSourceSpec struct {
	// url is the address of the Git repository, such as https://git.example.com/team/jobs.git or
	// ssh://git@git.example.com/team/jobs.git. The URL of the repository must not contain a password. The controller fetches over http only from
	// hosts that its configuration names.
	// +kubebuilder:validation:MinLength=10
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^((https?://[A-Za-z0-9._\[\]:-]+)|(ssh://([A-Za-z0-9._-]+@)?[A-Za-z0-9._\[\]:-]+))/[A-Za-z0-9._~/%+-]+$`
	URL string `json:"url"`

	// ref selects the commit. By default, this is the newest commit of the repository's default branch.
	// +optional
	Ref *GitRef `json:"ref,omitempty"`

	// path is the folder of the repository that contains the TrainJobs. The controller reads the YAML and JSON files in this
	// folder and in all folders below it. If the folder contains a kustomization.yaml, the controller builds the
	// kustomization instead. The default is the whole repository.
	// +kubebuilder:default="."
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="path must be relative, and must not contain .."
	// +optional
	Path string `json:"path,omitempty"`

	// interval is the time between two fetches. A webhook of the Git server, or the annotation trainyard.dev/sync,
	// causes an earlier fetch.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+h)?([0-9]+m)?([0-9]+s)?$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="interval must be between 10s and 24h"
	// +optional
	Interval metav1.Duration `json:"interval,omitzero"`

	// timeout is the longest time that one fetch may take.
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+h)?([0-9]+m)?([0-9]+s)?$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="timeout must be between 1s and 10m"
	// +optional
	Timeout metav1.Duration `json:"timeout,omitzero"`

	// secretRef names a Secret with the credentials for the Git server. For https, the Secret contains the keys
	// username and password, or the key bearerToken, or only the key ca.crt. The key ca.crt can also be combined with
	// the other keys for https. For ssh, the Secret contains the keys identity (a private key) and known_hosts. If the
	// private key has a password, the Secret also contains this password, under the key password. If the Secret
	// contains any of the keys above, its annotation trainyard.dev/hosts must list the host of url. Without this
	// requirement, everyone who can create a TrainJobSource could send the credentials to another server.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`

	// verify lists conditions that a commit must meet before its TrainJobs are applied.
	// +optional
	Verify *Verification `json:"verify,omitempty"`

	// serviceAccountName is the ServiceAccount that the controller impersonates to read and write TrainJobs. The
	// tenant's Role must allow the controller to impersonate the ServiceAccount. The Role that trainyard generates
	// allows the controller to impersonate only the ServiceAccount trainyard-jobs.
	// +kubebuilder:default="trainyard-jobs"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// If suspend is true, the controller neither fetches nor applies commits. Running TrainJobs are not stopped.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// onChange says whether and when a changed job runs. With the value Queue, the new version runs after all runs of
	// the job have ended. With the value RunAlongside, the new version runs at once, beside earlier runs. With the
	// value Replace, the controller first deletes the active runs of the job, and then runs the new version. With the
	// value Ignore, only the first version runs.
	// +kubebuilder:default=Queue
	// +optional
	OnChange ChangePolicy `json:"onChange,omitempty"`

	// prune says which runs are deleted after their job was removed from Git. With the value Never, no runs are deleted.
	// With the value Finished, active runs continue, and ended runs are deleted only if they exceed historyLimits. With the
	// value Always, all runs are deleted, even active runs.
	// +kubebuilder:default=Finished
	// +optional
	Prune PrunePolicy `json:"prune,omitempty"`

	// historyLimits says how many ended runs of each job stay in the cluster. The controller deletes older ended runs.
	// +kubebuilder:default={}
	// +optional
	HistoryLimits HistoryLimits `json:"historyLimits,omitzero"`

	// If dryRun is true, the controller fetches and plans, and writes the plan into the status, but changes no TrainJob.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
}

// GitRef selects a commit of a repository. Exactly one field of a GitRef must be set.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type GitRef struct {
	// branch is the name of a branch. The newest commit of the branch is used.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._/+@-]*$') && !self.contains('..') && !self.contains('//') && !self.endsWith('/') && !self.endsWith('.lock')",message="branch must be a valid name of a Git branch"
	// +optional
	Branch string `json:"branch,omitempty"`
	// tag is the name of a tag.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._/+@-]*$') && !self.contains('..') && !self.contains('//') && !self.endsWith('/') && !self.endsWith('.lock')",message="tag must be a valid name of a Git tag"
	// +optional
	Tag string `json:"tag,omitempty"`
	// semver is a range of versions, such as ">=1.2.0 <2.0.0" or "1.x". The tag with the highest version in the range is
	// used. Tags may start with v.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Semver string `json:"semver,omitempty"`
	// commit is the full hash of a commit, as 40 hexadecimal digits. The Git server must allow clients
	// to fetch a commit by its hash.
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{40}$`
	// +optional
	Commit string `json:"commit,omitempty"`
}

// LocalReference names an object in the namespace of the TrainJobSource.
type LocalReference struct {
	// name is the name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// Verification lists conditions that a commit must meet.
//
// +kubebuilder:validation:MinProperties=1
type Verification struct {
	// secretRef names a Secret with public keys. Each value in the Secret is an armored OpenPGP key ring. The commit
	// must have a valid signature by a key in one of these key rings.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`
	// linearHistory requires that a new commit descends from the commit that was fetched last, so that a forced push
	// cannot bring back an old state. A commit that reverts a change is still allowed, because it descends from the
	// earlier commits.
	// +optional
	LinearHistory bool `json:"linearHistory,omitempty"`
}

// ChangePolicy says whether and when a changed job runs.
//
// +kubebuilder:validation:Enum=Queue;RunAlongside;Replace;Ignore
type ChangePolicy string

// The values of ChangePolicy.
const (
	ChangeQueue        ChangePolicy = "Queue"
	ChangeRunAlongside ChangePolicy = "RunAlongside"
	ChangeReplace      ChangePolicy = "Replace"
	ChangeIgnore       ChangePolicy = "Ignore"
)

// PrunePolicy says which runs are deleted after their job was removed from Git.
//
// +kubebuilder:validation:Enum=Never;Finished;Always
type PrunePolicy string

// The values of PrunePolicy.
const (
	PruneNever    PrunePolicy = "Never"
	PruneFinished PrunePolicy = "Finished"
	PruneAlways   PrunePolicy = "Always"
)

// HistoryLimits says how many ended runs of each job stay in the cluster. The controller deletes the oldest ended
// runs of a job if the job has more ended runs than the limits allow.
type HistoryLimits struct {
	// succeeded is the number of succeeded runs to keep for each job.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Succeeded *int32 `json:"succeeded,omitempty"`
	// failed is the number of failed runs to keep for each job.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Failed *int32 `json:"failed,omitempty"`
}
