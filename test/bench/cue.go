package bench

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/test/bench/workload"
)

// streamPackage is the source of a file that the benchmarks add to a copy of the CUE package generator/evaluate. With
// this file, `cue export` generates complete objects without trainyard's Go code. When trainyard generates objects, CUE
// evaluates each shape only once, and Go fills in the parameters. (A shape is an object without the values of its
// parameters.) The code in streamPackage builds no RoleBindings, because no tenant of workload W has editors or
// viewers.
const streamPackage = `package evaluate

import (
	"encoding/yaml"
	"list"

	tenantobjects "github.com/trainyard/trainyard/generator/objects/tenant"
	"github.com/trainyard/trainyard/runtimes"
)

document: {...}
requests: {...}
tenants: {...}
shared: {...}
listed: {
	for name, tenant in document.spec.tenants for key in tenant.runtimes {(key): "\(name)": name}
}

#Whole: {
	runtimes.#TrainingRuntime
	in: _
	containers: {
		for name in ["launcherIdentity", "preflight", "disruptionCheck", "nodeIdentity"] {(name): (runtimes.components[name] & {"in": in}).object}
		mpirun: (runtimes.#Mpirun & {"in": in, env: (runtimes.components.launcherEnv & {"in": in}).object}).object
		sshd: (runtimes.#Sshd & {"in": in, env: (runtimes.components.nodeEnv & {"in": in}).object}).object
	}
}

stream: yaml.MarshalStream([
	for _, request in requests
	for home in [if request.perTenant {[for name in listed[request.from[2]] {name}]}, [""]][0] {
		(#Whole & {in: request.input, in: tenant: home}).object
	},
	for home, tenant in tenants
	for name, policy in tenantobjects.policies.tenants
	let keys = [for key in list.Concat([policy.onSettings, policy.onPresence]) if tenant[key] != _|_ {key}]
	if len(keys) > 0 {
		let settings = {for key in list.Concat([keys, policy.optionalSettings]) if tenant[key] != _|_ {(key): tenant[key]}}
		(tenantobjects.builders[name] & {in: {platform: document.metadata.name, "tenant": home, "settings": settings, subjects: [], "shared": shared}}).object
	},
])
`

// cueCases returns the cases that generate the objects of workload W with `cue export`, one environment at a time.
func (b *bench) cueCases() []Case {
	var exports []Command
	for e := range workload.W.Environments {
		exports = append(exports, b.export(e, workload.W.Tenants, b.path("exported", workload.Environment(e)+".yaml")))
	}
	one := b.path("exported", "tenant.yaml")
	all := workload.W.Objects()
	return []Case{
		{
			ID: caseCUE, Title: fmt.Sprintf("`cue export` of W, %d exports of %d objects", len(exports), all/len(exports)), Objects: all,
			commands: exports,
			verify:   func() error { return b.matchesOutput("exported", "%s.yaml") },
		},
		{
			ID: caseCUETenant, Title: "`cue export` of one tenant of one environment of W", Objects: workload.W.OfTenant(),
			commands: []Command{b.export(0, 1, one)},
			verify:   func() error { return b.verifyTenant(one) },
		},
	}
}

func (b *bench) export(environment, tenants int, output string) Command {
	return Command{
		Args:   []string{b.programs["cue"], "export", "./generator/evaluate", b.resolvedPath(environment, tenants), "-l", "document:", "-e", "stream", "--out", "text"},
		Dir:    b.path("cue"),
		Output: output,
	}
}

// resolvedPath returns the path of the document that describes one environment with the given number of tenants.
func (b *bench) resolvedPath(environment, tenants int) string {
	return b.documentPath(fmt.Sprintf("resolved-%d-%d", environment, tenants))
}

// writeModule copies trainyard's CUE module. In the copy, writeModule adds the file stream.cue to the package
// generator/evaluate. The constant streamPackage contains the text of this file. writeModule also writes the documents
// that `cue export` reads.
func (b *bench) writeModule() error {
	err := fs.WalkDir(trainyard.CUE, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(trainyard.CUE, name)
		if err != nil {
			return err
		}
		return b.write(b.path("cue", name), text)
	})
	if err != nil {
		return fmt.Errorf("copying the CUE module: %w", err)
	}
	if err := os.MkdirAll(b.path("exported"), 0o755); err != nil {
		return err
	}
	for e := range workload.W.Environments {
		for _, tenants := range []int{1, workload.W.Tenants} {
			text, err := workload.W.Resolved(e, tenants)
			if err != nil {
				return err
			}
			if err := b.write(b.resolvedPath(e, tenants), text); err != nil {
				return err
			}
		}
	}
	return b.write(b.path("cue", "generator", "evaluate", "stream.cue"), []byte(streamPackage))
}
