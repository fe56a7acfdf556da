# `make test` must pass for every change. Slower suites have their own targets. docs/lanes.md records when each of these
# targets last passed.

.DEFAULT_GOAL := help

include tools/tools.mk
include tools/flux/flux.mk

# TEST_TOOLS lists the tools that `make test` runs. If TRAINYARD_TRAINERS is set, `make test` also tests with older versions
# of Trainer, and the list also contains these versions.
TEST_TOOLS := $(filter-out %/golangci-lint $(if $(TRAINYARD_TRAINERS),,$(TOOLS_BIN)/trainer-2.1/%),$(TOOLS))

# LANE runs the command of a lane (a group of tests with its own target), and records in docs/lanes.json that the lane has
# passed.
LANE := go run ./test/lanes/cmd/lanes run

.PHONY: help
help: ## Show this help
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

.PHONY: build
build: ## Build the trainyard command and trainyard-controller into bin/
	go build -o bin/ ./cmd/trainyard ./cmd/trainyard-controller

.PHONY: test
test: packages ## Run unit tests, script tests, and the suites that use a real API server
	@$(MAKE) -s --no-print-directory ONE_AT_A_TIME=1 $(TEST_TOOLS)
	$(LANE) test $(MAKE) -s --no-print-directory test-suites

# LANE_SUITES lists suites in test/ that `make test` skips, as FOLDER:LANE. `make LANE` runs the suite.
LANE_SUITES := argocd:argocd crash:crash e2e:e2e gitops/cmd/gitops:gitops packets:packets scale:kueue scale:scale

.PHONY: test-suites
test-suites:
	@# If go test ran these suites here, they would skip all their tests, and go test would print "ok". go vet only compiles
	@# them.
	@for suite in $(LANE_SUITES); do echo "SKIP	./test/$${suite%:*}: run make $${suite#*:}"; done
	go vet $(sort $(foreach suite,$(LANE_SUITES),./test/$(firstword $(subst :, ,$(suite)))))
	@# The default limit of go test is ten minutes for each package. On a busy machine, the suites on real
	@# API servers take longer.
	go test -timeout 45m $$(go list ./... | grep -v -E '/test/(layout|lanes|docs|formats|argocd|crash|e2e|gitops/cmd/gitops|packets|scale)$$')
	@# The test cache is off for these packages, because it does not notice changes of files that the tests read through
	@# other programs.
	go test -count=1 -timeout 30m ./test/layout ./test/lanes ./test/docs ./test/formats

.PHONY: trainers
trainers: packages ## Run the suites that use a real API server, with every supported Trainer and Kueue
	@$(MAKE) -s --no-print-directory ONE_AT_A_TIME=1 $(TRAINERS_TOOLS)
	$(LANE) trainers env TRAINYARD_TRAINERS=1 go test -count=1 -timeout 30m ./test/controlplane

# LEVEL says what the cluster of `make sandbox` contains: pods (cluster nodes that run pods) or control-plane (only the API
# server and controllers). Level control-plane needs no root.
LEVEL ?= pods

.PHONY: sandbox
sandbox: sandbox-$(LEVEL) ## Start a cluster with trainyard's controller and a Git server on this machine (as root)
	go run ./test/gitops/cmd/gitops up

.PHONY: sandbox-pods
sandbox-pods: cluster-packages cluster-tools sandbox-image
	go run ./test/cluster/cmd/sandbox up
	go run ./test/cluster/cmd/sandbox load .tools/images/openmpi.tar

.PHONY: sandbox-control-plane
sandbox-control-plane:
	@$(MAKE) -s --no-print-directory ONE_AT_A_TIME=1 $(filter-out %/kwok,$(SCALE_TOOLS))
	go run ./test/cluster/cmd/sandbox up --level control-plane

# sandbox-image builds the image of the runtime in test/gitops/platform.yaml.
.PHONY: sandbox-image
sandbox-image: cluster-packages
	go run ./test/images/cmd/images .tools/images openmpi

.PHONY: images
images: cluster-packages ## Build the images of test clusters (as root)
	go run ./test/images/cmd/images .tools/images

.PHONY: images-horovod
images-horovod: cluster-packages ## Build the image of Horovod, which is compiled (as root)
	go run ./test/images/cmd/images .tools/images horovod

.PHONY: e2e
e2e: cluster-packages cluster-tools kueue-tools packets-tools images ## Run MPI jobs in real pods (as root)
	@# At most three jobs run at once, because two cores and two cluster nodes have no room for more.
	$(LANE) e2e env TRAINYARD_E2E=1 TRAINYARD_KUEUE=1 go test -count=1 -p 1 -parallel 3 -timeout 60m ./test/images ./test/cluster ./test/e2e

.PHONY: e2e-horovod
e2e-horovod: images-horovod cluster-tools packets-tools images ## Train with Horovod in real pods, after compiling Horovod (as root)
	$(LANE) e2e-horovod env TRAINYARD_E2E=1 TRAINYARD_HOROVOD=1 go test -count=1 -p 1 -timeout 30m -run 'TestTrainingWithHorovod|TestHorovodTrainsLikeOneProcess' ./test/images ./test/e2e

# The Python environment with the Kubeflow SDK. The name of the folder contains the version, so a new version is installed in another folder.
SDK := .tools/kubeflow-0.5.0

$(SDK):
	python3 -m venv $@.part
	$@.part/bin/python -m pip install --quiet kubeflow==0.5.0
	mv $@.part $@

.PHONY: sdk
sdk: cluster-packages cluster-tools images $(SDK) ## Train in real pods with the Kubeflow SDK (as root)
	$(LANE) sdk env TRAINYARD_E2E=1 TRAINYARD_SDK=$(CURDIR)/$(SDK)/bin/python go test -count=1 -parallel 3 -timeout 30m -run TestSDK ./test/e2e

# SMOKE_TESTS selects these tests: one job of each MPI implementation, one job of the Kubeflow SDK, and the isolation of tenants.
SMOKE_TESTS := TestRanksReachEachOther/ranks_on_the_launcher|TestSDKTrainsAFunction/openmpi$$|TestNetworkPoliciesIsolatePods

# SMOKE_IMAGES lists the images that these tests need. The image `training` is not in the list, because it takes five minutes
# to build.
SMOKE_IMAGES := intel mpich openmpi openmpi5

.PHONY: smoke
smoke: cluster-packages cluster-tools packets-tools $(SDK) ## Run a few jobs in real pods (as root)
	go run ./test/images/cmd/images .tools/images $(SMOKE_IMAGES)
	$(LANE) smoke env TRAINYARD_E2E=1 TRAINYARD_SDK=$(CURDIR)/$(SDK)/bin/python go test -count=1 -parallel 3 -timeout 15m -run '$(SMOKE_TESTS)' ./test/e2e

.PHONY: hosts
hosts: cluster-packages cluster-tools images ## Run TrainJobs with 100 hosts in real pods, for each MPI implementation (as root)
	$(LANE) hosts env TRAINYARD_E2E=1 TRAINYARD_HOSTS=100 go test -count=1 -timeout 60m -run TestManyHosts ./test/e2e

.PHONY: scale
scale: scale-tools ## Run TrainJobs with many nodes on simulated cluster nodes
	$(LANE) scale env TRAINYARD_SCALE=1 go test -count=1 -timeout 15m ./test/scale

.PHONY: kueue
kueue: kueue-tools ## Run TrainJobs that wait for Kueue's quota, on simulated cluster nodes
	$(LANE) kueue env TRAINYARD_KUEUE=1 go test -count=1 -timeout 15m ./test/scale

.PHONY: argocd
argocd: argocd-packages argocd-tools ## Deliver a platform from Git with Argo CD
	$(LANE) argocd env TRAINYARD_ARGOCD=1 go test -count=1 -timeout 60m ./test/argocd

.PHONY: gitops
gitops: cluster-packages cluster-tools sandbox-image ## Run TrainJobs from Git in real pods, as examples/gitops shows (as root)
	$(LANE) gitops env TRAINYARD_E2E=1 TRAINYARD_GITOPS=1 go test -count=1 -timeout 30m ./test/gitops/cmd/gitops

.PHONY: packets
packets: packages packets-tools ## Test network policies with real connections
	$(LANE) packets env TRAINYARD_PACKETS=1 go test -count=1 -timeout 15m ./test/packets

.PHONY: crash
crash: crash-packages ## Kill the writer of folders, and make it run out of memory and disk space (as root)
	$(LANE) crash env TRAINYARD_CRASH=1 go test -count=1 -timeout 60m ./test/crash

.PHONY: race
race: ## Run the tests of the product's packages with the race detector
	@# The race detector makes programs several times slower. The tests that -skip excludes have time limits, which they
	@# would exceed. `make test` runs them without the race detector.
	$(LANE) race go test -race -timeout 60m -skip '^TestCorpus$$/^bound_|^TestScript$$/^cue_bombs$$|^Fuzz' ./bundles/... ./cmd/... ./controller/... ./generator/...

# BENCH_TOOLS lists the programs with which the benchmarks compare trainyard.
BENCH_TOOLS := $(TOOLS_BIN)/kustomize $(TOOLS_BIN)/cue $(TOOLS_BIN)/helm-4

# These programs are built without cgo, like trainyard and like their official releases.
$(BENCH_TOOLS): export CGO_ENABLED := 0

.PHONY: bench
bench: $(BENCH_TOOLS) ## Measure the speed of trainyard, kustomize and cue (about 13 minutes)
	$(LANE) bench go run ./test/bench/cmd/bench run

.PHONY: bench-docs
bench-docs: $(BENCH_TOOLS) ## Run bench, and write the figures into docs/benchmarks.md
	$(LANE) bench go run ./test/bench/cmd/bench run --docs docs/benchmarks.md

.PHONY: bench-rules
bench-rules: $(TOOLS_BIN)/rulecost ## Measure how long Prometheus takes to evaluate the rules
	go run ./test/bench/cmd/bench rules

.PHONY: bench-rules-docs
bench-rules-docs: $(TOOLS_BIN)/rulecost ## Measure also 100,000 TrainJobs, and write the figures into docs/benchmarks.md
	go run ./test/bench/cmd/bench rules --jobs 10,100,1000 --docs docs/benchmarks.md

.PHONY: bench-mpi
bench-mpi: cluster-packages cluster-tools images ## Measure the speed of MPI in pods, compared with plain mpirun (as root)
	$(LANE) bench-mpi env TRAINYARD_E2E=1 go test -count=1 -timeout 30m -run '^$$' -bench MPI -benchtime 1x ./test/e2e

.PHONY: bench-mpi-docs
bench-mpi-docs: ## Run bench-mpi, and write the figures into docs/benchmarks.md
	BENCH_MPI_DOCS=$(CURDIR)/docs/benchmarks.md $(MAKE) bench-mpi

.PHONY: bench-gitops
bench-gitops: tools $(FLUX_TOOLS) ## Measure TrainJobs from Git, compared with Flux (about 30 minutes)
	$(LANE) bench-gitops go test -count=1 -timeout 120m -run '^$$' -bench TrainJobsFromGit -benchtime 1x ./test/gitbench

.PHONY: bench-gitops-docs
bench-gitops-docs: ## Run bench-gitops, and write the figures into docs/benchmarks.md
	GITBENCH_DOCS=$(CURDIR)/docs/benchmarks.md $(MAKE) bench-gitops

.PHONY: bench-jobs
bench-jobs: tools ## Measure trainyard-controller with thousands of running TrainJobs (about 17 minutes)
	$(LANE) bench-jobs go test -count=1 -timeout 60m -run '^$$' -bench FollowTrainJobs -benchtime 1x ./test/gitbench

.PHONY: bench-jobs-docs
bench-jobs-docs: ## Run bench-jobs, and write the figures into docs/benchmarks.md
	GITBENCH_DOCS=$(CURDIR)/docs/benchmarks.md $(MAKE) bench-jobs

# FUZZ lists the fuzz targets, as PACKAGE:NAME. -fuzzminimizetime 5x lets Go use at most 5 runs to minimize an input. Without
# this limit, Go would spend more time on minimizing one input than on finding new inputs.
FUZZ := ./generator:FuzzGenerate ./generator:FuzzLayers ./generator/vet/runtime:FuzzVet ./bundles:FuzzYAML ./policies/guard:FuzzCheck ./cmd/trainyard-fn:FuzzRun ./api/jobs/diagnosis:FuzzDiagnose
FUZZTIME ?= 10m

.PHONY: fuzz
fuzz: ## Run all fuzz targets one after another, each for ten minutes
	$(LANE) fuzz $(MAKE) -s --no-print-directory fuzz-targets FUZZTIME=10m

.PHONY: fuzz-targets
fuzz-targets: ## Run all fuzz targets one after another, each for FUZZTIME (10m), without a record
	@set -e; for target in $(FUZZ); do \
		echo "$$target for $(FUZZTIME)"; \
		go test $${target%:*} -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x; \
	done

.PHONY: lanes
lanes: ## List all lanes, when each passed, and whether its inputs have changed since then
	@go run ./test/lanes/cmd/lanes list

.PHONY: lanes-stale
lanes-stale: ## Run the lanes whose inputs have changed since they passed
	@# The separate assignment makes this target fail if the list of stale lanes cannot be determined.
	@set -e; stale=$$(go run ./test/lanes/cmd/lanes stale); for lane in $$stale; do $(MAKE) $$lane; done

.PHONY: lint
lint: $(TOOLS_BIN)/golangci-lint ## Run the linter
	$(TOOLS_BIN)/golangci-lint run ./...

.PHONY: fmt
fmt: ## Format Go and CUE
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')
	TRAINYARD_UPDATE=1 go test -count=1 -run TestCUEIsFormatted ./test/layout >/dev/null

.PHONY: update
update: ## Rewrite generated files, such as renderings and the expected output of script tests
	TRAINYARD_UPDATE=1 go test -count=1 -run TestAPICodeIsGenerated ./test/trainjobsource
	@# Only the result of the second run counts. The first run can fail because it rewrites a file that another test reads.
	TRAINYARD_UPDATE=1 go test -count=1 ./cmd/... ./test/layout ./test/formats ./test/docs ./test/dashboards ./test/prometheus ./test/lanes >/dev/null || TRAINYARD_UPDATE=1 go test -count=1 ./cmd/... ./test/layout ./test/formats ./test/docs ./test/dashboards ./test/prometheus ./test/lanes

.PHONY: verify
verify: update ## Rewrite generated files, and fail if a file changes
	@git diff --exit-code --stat || { echo "generated files are not up to date: commit the changed files" >&2; exit 1; }
	@test -z "$$(git ls-files --others --exclude-standard)" || { git status --short; echo "generated files are not committed" >&2; exit 1; }

.PHONY: pictures
pictures: packages ## Draw the panels of dashboards for docs/, from responses of Prometheus
	test -d .tools/pictures || python3 -m venv .tools/pictures
	.tools/pictures/bin/pip install -q -r tools/pictures/requirements.txt
	TRAINYARD_PICTURES=$(CURDIR)/.tools/pictures/answers.json go test -count=1 -run TestAnswersForPictures ./test/prometheus
	.tools/pictures/bin/python tools/pictures/draw.py docs/pictures <.tools/pictures/answers.json

.PHONY: clean
clean: ## Remove build results and tools
	rm -rf bin $(dir $(TOOLS_BIN))
