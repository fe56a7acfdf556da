# This file builds Flux's controllers, with which `make bench-gitops` compares trainyard-controller. The root Makefile
# includes this file.

FLUX_TOOLS := $(TOOLS_BIN)/flux/source-controller $(TOOLS_BIN)/flux/kustomize-controller

$(TOOLS_BIN)/flux/%: tools/flux/%/go.mod tools/flux/%/go.sum
	$(call build-tool,github.com/fluxcd/$*,3 minutes)
