package bench

import (
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/test/bench/workload"
)

// Case is one thing to measure.
type Case struct {
	ID      string
	What    string
	Objects int // how many come of it; 0 where that is no matter

	prepare  func() error // before each run, outside of the measurement; may be nil
	commands []Command    // run one after the other
	verify   func() error // what they made; nil if that is no matter
	turns    int          // how often it is measured in each round
}

// The cases that others are compared with.
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

// fresh is a case that writes into a folder that is not there, all of a document
// unless it verifies something else.
func (b *bench) fresh(id, what string, objects int, run func(dir string) Command) Case {
	dir := b.path("fresh-" + id)
	return Case{
		ID: id, What: what, Objects: objects,
		prepare:  func() error { return b.putAside(dir) },
		commands: []Command{run(dir)},
		verify:   func() error { return b.counts(dir, objects) },
	}
}

// starts are cases that are about starting, not about objects.
func (b *bench) starts() []Case {
	version := Command{Args: []string{b.programs["trainyard"], "version"}, Output: b.path("output.yaml")}
	return []Case{
		{ID: caseVersion, What: "`trainyard version`", commands: []Command{version}},
		{
			ID: caseMinimal, What: "`examples/minimal` to standard output", Objects: 1,
			commands: []Command{b.trainyard("--example", "minimal")},
		},
		b.fresh("minimal-folder", "`examples/minimal` to a new folder", 1, func(dir string) Command {
			return b.trainyard("--example", "minimal", "-o", dir)
		}),
		b.fresh("acme-folder", "`examples/acme`, 2 environments, to a new folder", b.acme, func(dir string) Command {
			return b.trainyard("--example", "acme", "-o", dir)
		}),
	}
}

// works are the cases on W.
func (b *bench) works() []Case {
	all := workload.W.Objects()
	plain := b.fresh(casePlain, "W to a new folder, one stream for each environment", all, func(dir string) Command {
		return b.inFormat("W", "plain", dir)
	})
	plain.verify = func() error { return b.holds(b.path("fresh-"+casePlain), "manifests.yaml") }
	single := b.fresh("w-kustomize", "W to a new folder, one file for each object", all, func(dir string) Command {
		return b.inFormat("W", "kustomize", dir)
	})
	single.verify = func() error { return b.holds(b.path("fresh-w-kustomize"), objectFiles) }
	return []Case{
		plain, single,
		{
			ID: "w-check", What: "W with nothing changed, `--check`", Objects: all,
			commands: []Command{b.inFormat("W", "kustomize", b.path("checked"), "--check")},
		},
		{
			ID: "w-change", What: "W with one value changed, which is in 25 files", Objects: all,
			prepare:  b.revise,
			commands: []Command{b.inFormat("revised", "kustomize", b.path("revised"))},
			verify:   b.isRevised,
		},
		{
			ID: caseTenant, What: "one tenant of one environment of W to standard output", Objects: workload.W.OfTenant(),
			commands: []Command{b.workload("W", "--only", "tenant/"+workload.Tenant(0), "--env", workload.Environment(0))},
			verify:   func() error { return b.isTenant(b.path("output.yaml")) },
		},
	}
}

// scales are the cases on other sizes than W.
func (b *bench) scales() []Case {
	var cases []Case
	for _, s := range []struct{ id, name string }{
		{caseTenth, "W/10"}, {caseFifth, "W/5"}, {caseFiveTimes, "5W"},
		{caseHalf, "W/2-runtimes"}, {caseByRuntimes, "3W-runtimes"},
	} {
		size := workload.Sizes()[s.name]
		what := fmt.Sprintf("%s: %d runtimes × %d tenants × %d environments", s.name, size.Runtimes, size.Tenants, size.Environments)
		if size.Environments == 1 {
			what = strings.TrimSuffix(what, "s")
		}
		cases = append(cases, b.fresh(s.id, what, size.Objects(), func(dir string) Command {
			return b.inFormat(s.name, "plain", dir)
		}))
	}
	return cases
}
