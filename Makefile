# Lanes: `make test` is what every change must pass. Slower suites stand apart and
# record their last result in docs/.

.DEFAULT_GOAL := help

include tools/tools.mk

# What the tests of `make test` start.
TEST_TOOLS := $(filter-out %/golangci-lint,$(TOOLS))

.PHONY: help
help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'

.PHONY: build
build: ## Build the trainyard command into bin/
	go build -o bin/ ./cmd/trainyard

.PHONY: test
test: packages ## Run unit tests, scripts and the suites on a real API server
	@$(MAKE) -s --no-print-directory ONE_AT_A_TIME=1 $(TEST_TOOLS)
	go vet ./...
	go test $$(go list ./... | grep -v -e /test/layout -e /test/docs -e /test/formats)
	@# These read files through other programs, which the test cache does not see.
	go test -count=1 ./test/layout ./test/docs ./test/formats

.PHONY: race
race: ## Run the tests of the product's own packages under the race detector
	go test -race ./bundles/... ./cmd/... ./generator/...

.PHONY: lint
lint: $(TOOLS_BIN)/golangci-lint ## Hold the code against the linter configuration
	$(TOOLS_BIN)/golangci-lint run ./...

.PHONY: fmt
fmt: ## Format Go and CUE
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')
	TRAINYARD_UPDATE=1 go test -count=1 -run TestCUEIsFormatted ./test/layout >/dev/null

.PHONY: update
update: ## Rewrite what is generated: renderings and the output that scripts expect
	@# Twice: rewriting ends a test as failed only when something else is wrong too.
	TRAINYARD_UPDATE=1 go test -count=1 ./cmd/... ./test/layout ./test/formats ./test/docs >/dev/null || TRAINYARD_UPDATE=1 go test -count=1 ./cmd/... ./test/layout ./test/formats ./test/docs

.PHONY: verify
verify: update ## Rewrite what is generated; fail if that changes anything
	@git diff --exit-code --stat || { echo "generated files are not up to date: commit what changed" >&2; exit 1; }
	@test -z "$$(git ls-files --others --exclude-standard)" || { git status --short; echo "generated files are not committed" >&2; exit 1; }

.PHONY: clean
clean: ## Remove what was built, and the tools
	rm -rf bin $(dir $(TOOLS_BIN))
