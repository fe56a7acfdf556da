package bench

import (
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/test/bench/workload"
)

// Case is a measurement of one command, or of several commands that run one after the other.
type Case struct {
	ID      string
	Title   string
	Objects int // the number of generated objects; 0 if the number does not matter

	prepare  func() error // called before each sample, without being measured; may be nil
	commands []Command    // run one after the other
	verify   func() error // checks the output; may be nil
	turns    int          // how often the case is measured in each round
}

// IDs of the cases that the report compares with other cases or with a target.
const (
	caseVersion    = "version"
	caseMinimal    = "minimal"
	casePlain      = "w-plain"
	caseTenant     = "w-tenant"
	caseFlat       = "kustomize-flat"
	caseOverlays   = "kustomize-overlays"
	caseFunction   = "kustomize-function"
	caseCUE        = "cue-w"
	caseCUETenant  = "cue-tenant"
	caseTenth      = "w10"
	caseFifth      = "w5"
	caseFiveTimes  = "5w"
	caseHalf       = "w2-runtimes"
	caseByRuntimes = "3w-runtimes"
)

// newFolder returns a case that writes all objects of a document into a new folder. By default, a case checks only
// the number of generated objects. Callers can replace the default check by setting the field "verify".
func (b *bench) newFolder(id, title string, objects int, run func(dir string) Command) Case {
	dir := b.path("new-" + id)
	return Case{
		ID: id, Title: title, Objects: objects,
		prepare:  func() error { return b.moveAside(dir) },
		commands: []Command{run(dir)},
		verify:   func() error { return b.hasObjects(dir, objects) },
	}
}

// startCases returns the cases that measure mainly startup time.
func (b *bench) startCases() []Case {
	version := Command{Args: []string{b.programs["trainyard"], "version"}, Output: b.path("output.yaml")}
	return []Case{
		{ID: caseVersion, Title: "`trainyard version`", commands: []Command{version}},
		{
			ID: caseMinimal, Title: "`examples/minimal` to standard output", Objects: 1,
			commands: []Command{b.generateCommand("--example", "minimal")},
		},
		b.newFolder("minimal-folder", "`examples/minimal` to a new folder", 1, func(dir string) Command {
			return b.generateCommand("--example", "minimal", "-o", dir)
		}),
		b.newFolder("acme-folder", "`examples/acme`, 2 environments, to a new folder", b.acme, func(dir string) Command {
			return b.generateCommand("--example", "acme", "-o", dir)
		}),
	}
}

// workloadCases returns the cases of workload W.
func (b *bench) workloadCases() []Case {
	all := workload.W.Objects()
	plain := b.newFolder(casePlain, "W to a new folder, one stream for each environment", all, func(dir string) Command {
		return b.inFormat("W", "plain", dir)
	})
	plain.verify = func() error { return b.matchesBundle(b.path("new-"+casePlain), "manifests.yaml") }
	single := b.newFolder("w-kustomize", "W to a new folder, one file for each object", all, func(dir string) Command {
		return b.inFormat("W", "kustomize", dir)
	})
	single.verify = func() error { return b.matchesBundle(b.path("new-w-kustomize"), objectFiles) }
	return []Case{
		plain, single,
		{
			ID: "w-check", Title: "W with nothing changed, `--check`", Objects: all,
			commands: []Command{b.inFormat("W", "kustomize", b.path("checked"), "--check")},
		},
		{
			ID: "w-change", Title: "W after a change of one value, which is in 25 files", Objects: all,
			prepare:  b.revise,
			commands: []Command{b.inFormat("revised", "kustomize", b.path("revised"))},
			verify:   b.verifyRevision,
		},
		{
			ID: caseTenant, Title: "one tenant of one environment of W to standard output", Objects: workload.W.OfTenant(),
			commands: []Command{b.workloadCommand("W", "--only", "tenant/"+workload.Tenant(0), "--env", workload.Environment(0))},
			verify:   func() error { return b.verifyTenant(b.path("output.yaml")) },
		},
	}
}

// scaleCases returns the cases of workloads that are smaller or larger than workload W.
func (b *bench) scaleCases() []Case {
	var cases []Case
	for _, s := range []struct{ id, name string }{
		{caseTenth, "W/10"}, {caseFifth, "W/5"}, {caseFiveTimes, "5W"},
		{caseHalf, "W/2-runtimes"}, {caseByRuntimes, "3W-runtimes"},
	} {
		size := workload.Sizes()[s.name]
		title := fmt.Sprintf("%s: %d runtimes × %d tenants × %d environments", s.name, size.Runtimes, size.Tenants, size.Environments)
		if size.Environments == 1 {
			title = strings.TrimSuffix(title, "s")
		}
		cases = append(cases, b.newFolder(s.id, title, size.Objects(), func(dir string) Command {
			return b.inFormat(s.name, "plain", dir)
		}))
	}
	return cases
}
