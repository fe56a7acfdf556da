# This file builds the pinned servers and command line tools that tests and checks use. Each module in tools/ is built
# separately. The root Makefile includes this file.

TOOLS_BIN := .tools/bin

# TRAINER_TOOLS lists folders below tools/, each of which pins one version of Trainer and JobSet. The binaries of each
# version have their own folder.
TRAINER_TOOLS := trainer-2.3 trainer-2.1

# TRAINER_MANIFESTS lists folders below tools/, each of which pins one version of Trainer. Tests read the manifests of
# the pinned versions.
TRAINER_MANIFESTS := trainer-2.2 trainer-2.1 trainer-2.0

# The tools, in build order: first the tools that most tests need, then the tools that only benchmarks need, and finally
# the slow linter.
TOOLS := $(addprefix $(TOOLS_BIN)/, etcd kube-apiserver kube-controller-manager kubectl kustomize \
	$(foreach t,$(TRAINER_TOOLS),$t/jobset $t/trainer-controller-manager) promql controller-gen helm-3 helm-4 olm-bundle argocd cue golangci-lint) trainer-manifests dashboard-manifests .tools/grafana-schema/node_modules

# TRAINERS_TOOLS lists the tools for tests that use a real API server. The list contains every version of Trainer.
TRAINERS_TOOLS := $(addprefix $(TOOLS_BIN)/, etcd kube-apiserver kube-controller-manager kubectl kustomize \
	$(foreach t,$(TRAINER_TOOLS),$t/jobset $t/trainer-controller-manager)) trainer-manifests dashboard-manifests

# CLUSTER_TOOLS are the tools of a cluster that runs pods (test/cluster). The build of CLUSTER_TOOLS takes longer than
# all tests.
CLUSTER_TOOLS := $(addprefix $(TOOLS_BIN)/, etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl \
	kustomize coredns pause $(foreach t,$(TRAINER_TOOLS),$t/jobset $t/trainer-controller-manager))

# SCALE_TOOLS lists the tools of a cluster whose cluster nodes are simulated.
SCALE_TOOLS := $(addprefix $(TOOLS_BIN)/, etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kustomize kwok trainer-2.3/jobset trainer-2.3/trainer-controller-manager)

# PACKETS_TOOLS lists the tools for tests of network policies.
PACKETS_TOOLS := $(addprefix $(TOOLS_BIN)/, etcd kube-apiserver kustomize network-policies \
	$(foreach t,$(TRAINER_TOOLS),$t/jobset $t/trainer-controller-manager))

# KUEUE_TOOLS lists folders below tools/. Each folder pins a version of Kueue, and a version of Trainer that this
# version of Kueue supports.
KUEUE_TOOLS := kueue-0.19 kueue-0.15
QUEUE_TOOLS := $(SCALE_TOOLS) $(addprefix $(TOOLS_BIN)/, $(foreach k,$(KUEUE_TOOLS),$k/kueue) \
	$(foreach t,$(TRAINER_TOOLS),$t/jobset $t/trainer-controller-manager))

# ARGOCD_TOOLS lists the tools for tests in which Argo CD delivers a platform from Git.
ARGOCD_TOOLS := $(addprefix $(TOOLS_BIN)/, etcd kube-apiserver kube-controller-manager kubectl kustomize argocd \
	$(foreach k,$(KUEUE_TOOLS),$k/kueue) $(foreach t,$(TRAINER_TOOLS),$t/jobset $t/trainer-controller-manager))

# $(call build-tool,package,time of the first build,more arguments of go build)
# If the result of a build is equal to the existing binary, go build does not write the binary, and the binary keeps its
# old time. Because of the old time, make would build the binary again each time. The command touch therefore updates the
# time. GOGC=400 allows the compiler a larger heap. The garbage collector then runs less often, and the compiler needs a
# quarter less CPU time.
define build-tool
	@echo "building $(@:$(TOOLS_BIN)/%=%) (about $2 the first time)"
	@mkdir -p $(@D)
	@cd $(<D) && GOGC=400 GOWORK=off go build $3 -o $(CURDIR)/$@ $1
	@touch $@
endef

# Only one tool is built at a time, even with -j, because one build uses two cores and much memory.
.PHONY: tools
tools: ## Build the pinned test servers and command line tools
	@$(MAKE) -s --no-print-directory ONE_AT_A_TIME=1 $(TOOLS)

.PHONY: cluster-tools
cluster-tools: ## Build the programs of a cluster that runs pods
	@$(MAKE) -s --no-print-directory ONE_AT_A_TIME=1 $(CLUSTER_TOOLS)

.PHONY: scale-tools
scale-tools: ## Build the programs of a cluster with simulated cluster nodes
	@$(MAKE) -s --no-print-directory ONE_AT_A_TIME=1 $(SCALE_TOOLS)

.PHONY: packets-tools
packets-tools: ## Build the programs that enforce network policies
	@$(MAKE) -s --no-print-directory ONE_AT_A_TIME=1 $(PACKETS_TOOLS)

.PHONY: kueue-tools
kueue-tools: ## Build Kueue, and the programs of a cluster that queues jobs
	@$(MAKE) -s --no-print-directory ONE_AT_A_TIME=1 $(QUEUE_TOOLS)

.PHONY: argocd-tools
argocd-tools: ## Build the programs that deliver a platform from Git
	@$(MAKE) -s --no-print-directory ONE_AT_A_TIME=1 $(ARGOCD_TOOLS)

ifdef ONE_AT_A_TIME
.NOTPARALLEL:
endif

.PHONY: packages
packages: ## Install missing Debian packages for the tests
	@tools/packages.sh test

.PHONY: argocd-packages
argocd-packages: ## Install missing Debian packages for Argo CD
	@tools/packages.sh argocd

.PHONY: crash-packages
crash-packages: ## Install missing Debian packages for the crash tests
	@tools/packages.sh crash

.PHONY: cluster-packages
cluster-packages: ## Install missing Debian packages for a cluster that runs pods
	@tools/packages.sh cluster

# With these flags, a Kubernetes binary reports the version of its Go module.
KUBERNETES_VERSION = -ldflags "-X k8s.io/component-base/version.gitVersion=$$(go list -m -f '{{.Version}}' k8s.io/kubernetes)"

$(TOOLS_BIN)/argocd: tools/argocd/go.mod tools/argocd/go.sum
	$(call build-tool,github.com/argoproj/argo-cd/v3/cmd,5 minutes)

$(TOOLS_BIN)/olm-bundle: tools/olm-bundle/go.mod tools/olm-bundle/go.sum tools/olm-bundle/main.go
	$(call build-tool,.,1 minute)

$(TOOLS_BIN)/etcd: tools/kubernetes/go.mod tools/kubernetes/go.sum
	$(call build-tool,go.etcd.io/etcd/server/v3,30 seconds)

$(TOOLS_BIN)/kube-apiserver: tools/kubernetes/go.mod tools/kubernetes/go.sum
	$(call build-tool,k8s.io/kubernetes/cmd/kube-apiserver,4 minutes,$(KUBERNETES_VERSION))

$(TOOLS_BIN)/kube-controller-manager: tools/kubernetes/go.mod tools/kubernetes/go.sum
	$(call build-tool,k8s.io/kubernetes/cmd/kube-controller-manager,3 minutes,$(KUBERNETES_VERSION))

$(TOOLS_BIN)/kube-scheduler: tools/kubernetes/go.mod tools/kubernetes/go.sum
	$(call build-tool,k8s.io/kubernetes/cmd/kube-scheduler,30 seconds,$(KUBERNETES_VERSION))

$(TOOLS_BIN)/kubelet: tools/kubernetes/go.mod tools/kubernetes/go.sum
	$(call build-tool,k8s.io/kubernetes/cmd/kubelet,3 minutes,$(KUBERNETES_VERSION))

$(TOOLS_BIN)/kubectl: tools/kubernetes/go.mod tools/kubernetes/go.sum
	$(call build-tool,k8s.io/kubernetes/cmd/kubectl,1 minute,$(KUBERNETES_VERSION))

$(TOOLS_BIN)/coredns: tools/coredns/go.mod tools/coredns/go.sum tools/coredns/main.go
	$(call build-tool,.,1 minute)

$(TOOLS_BIN)/network-policies: tools/network-policies/go.mod tools/network-policies/go.sum tools/network-policies/main.go
	$(call build-tool,.,2 minutes)

$(TOOLS_BIN)/kwok: tools/kwok/go.mod tools/kwok/go.sum
	$(call build-tool,sigs.k8s.io/kwok/cmd/kwok,2 minutes)

# pause is linked statically, because its image contains no other files.
$(TOOLS_BIN)/pause: test/images/pause/main.go
	@echo "building pause"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go build -trimpath -o $@ ./$(<D)

$(TOOLS_BIN)/controller-gen: tools/controller-gen/go.mod tools/controller-gen/go.sum
	$(call build-tool,sigs.k8s.io/controller-tools/cmd/controller-gen,1 minute)

$(TOOLS_BIN)/promql: tools/promql/go.mod tools/promql/go.sum tools/promql/main.go
	$(call build-tool,.,30 seconds)

$(TOOLS_BIN)/rulecost: tools/rulecost/go.mod tools/rulecost/go.sum $(wildcard tools/rulecost/*.go)
	$(call build-tool,.,2 minutes)

$(TOOLS_BIN)/kustomize: tools/kustomize/go.mod tools/kustomize/go.sum
	$(call build-tool,sigs.k8s.io/kustomize/kustomize/v5,20 seconds)

# Helm 3 contains the Kubernetes version for which it renders charts. The linker flag -X sets this version.
$(TOOLS_BIN)/helm-3: tools/helm-3/go.mod tools/helm-3/go.sum
	$(call build-tool,helm.sh/helm/v3/cmd/helm,2 minutes,-ldflags "$(foreach package,chartutil lint/rules,$(foreach part,Major=1 Minor=36,-X helm.sh/helm/v3/pkg/$(package).k8sVersion$(part)))")

$(TOOLS_BIN)/helm-4: tools/helm-4/go.mod tools/helm-4/go.sum
	$(call build-tool,helm.sh/helm/v4/cmd/helm,2 minutes)

$(TOOLS_BIN)/cue: tools/cue/go.mod tools/cue/go.sum
	$(call build-tool,cuelang.org/go/cmd/cue,30 seconds)

$(TOOLS_BIN)/%/jobset: tools/%/go.mod tools/%/go.sum
	$(call build-tool,sigs.k8s.io/jobset,1 minute)

$(TOOLS_BIN)/%/trainer-controller-manager: tools/%/go.mod tools/%/go.sum
	$(call build-tool,github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager,1 minute)

$(TOOLS_BIN)/%/kueue: tools/%/go.mod tools/%/go.sum
	$(call build-tool,sigs.k8s.io/kueue/cmd/kueue,8 minutes)

# The target trainer-manifests is phony, because users can delete the module cache. The command takes milliseconds if
# the cache contains the modules.
.PHONY: trainer-manifests
trainer-manifests:
	@for t in $(TRAINER_MANIFESTS); do \
		(cd tools/$$t && GOWORK=off go mod download github.com/kubeflow/trainer/v2) || exit 1; \
	done
	@cd tools/kueue-0.14 && GOWORK=off go mod download sigs.k8s.io/kueue

# dashboard-manifests downloads the operators for dashboards and rules. Tests read only the CRDs of the operators.
.PHONY: dashboard-manifests
dashboard-manifests:
	@cd tools/dashboards && GOWORK=off go mod download github.com/grafana/grafana-operator/v5 github.com/perses/perses-operator
	@cd tools/prometheus-operator && GOWORK=off go mod download github.com/prometheus-operator/prometheus-operator

# Grafana publishes TypeScript types of its dashboards. The TypeScript compiler checks dashboards against the published
# types.
.tools/grafana-schema/node_modules: tools/grafana-schema/package.json tools/grafana-schema/package-lock.json
	@echo "installing Grafana's types"
	@mkdir -p $(@D) && cp tools/grafana-schema/package*.json $(@D)
	@cd $(@D) && npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

$(TOOLS_BIN)/golangci-lint: tools/golangci-lint/go.mod tools/golangci-lint/go.sum
	$(call build-tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,2 minutes)
