package fetch

import (
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// target is the commit that spec.ref selects.
type target struct {
	ref    string        // the full name, such as refs/heads/main; empty for a commit that is selected by its hash
	object plumbing.Hash // the object to which the branch or tag points: the commit, or an annotated tag
	commit plumbing.Hash
}

const (
	branches = "refs/heads/"
	tags     = "refs/tags/"
)

var (
	safeRef  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+@-]*$`)
	fullHash = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// isSafeRef reports whether a text can be the name of a branch or tag, by the rules of the API and of Git.
func isSafeRef(name string) bool {
	if !safeRef.MatchString(name) || len(name) > 255 || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") || strings.Contains(part, "..") {
			return false
		}
	}
	return true
}

// checkRef checks spec.ref before the client sends a request to the server.
func checkRef(ref v1alpha1.GitRef) error {
	set := 0
	for _, field := range []string{ref.Branch, ref.Tag, ref.Semver, ref.Commit} {
		if field != "" {
			set++
		}
	}
	switch {
	case set > 1:
		return configErrorf("spec.ref must have only one of branch, tag, semver and commit")
	case ref.Branch != "" && !isSafeRef(ref.Branch):
		return configErrorf("spec.ref.branch: %q is not a valid name of a branch", ref.Branch)
	case ref.Tag != "" && !isSafeRef(ref.Tag):
		return configErrorf("spec.ref.tag: %q is not a valid name of a tag", ref.Tag)
	case ref.Commit != "" && !fullHash.MatchString(ref.Commit):
		return configErrorf("spec.ref.commit: want 40 hexadecimal digits in lower case, got %q", ref.Commit)
	}
	return nil
}

// resolve returns the commit that spec.ref selects, according to the server's list of branches and tags.
func resolve(ref v1alpha1.GitRef, list *packp.AdvRefs) (target, error) {
	switch {
	case ref.Branch != "":
		if hash, exists := list.References[branches+ref.Branch]; exists {
			return target{branches + ref.Branch, hash, hash}, nil
		}
		return target{}, configErrorf("the repository has no branch %s", ref.Branch)
	case ref.Tag != "":
		return resolveTag(ref.Tag, list)
	case ref.Semver != "":
		return resolveRange(ref.Semver, list)
	case ref.Commit != "":
		hash := plumbing.NewHash(ref.Commit)
		return target{"", hash, hash}, nil
	}
	return resolveHead(list)
}

func resolveTag(name string, list *packp.AdvRefs) (target, error) {
	hash, exists := list.References[tags+name]
	if !exists {
		return target{}, configErrorf("the repository has no tag %s", name)
	}
	if commit, annotated := list.Peeled[tags+name]; annotated {
		return target{tags + name, hash, commit}, nil
	}
	return target{tags + name, hash, hash}, nil
}

// resolveRange finds the tag with the highest version in a range. If two tags have the highest version, such as
// 1.0.0 and v1.0.0, resolveRange takes the tag whose name is later in the alphabet.
func resolveRange(text string, list *packp.AdvRefs) (target, error) {
	allowed, err := semver.NewConstraint(text)
	if err != nil {
		return target{}, configErrorf("spec.ref.semver: %q is not a range of versions, such as >=1.2.0 <2.0.0", text)
	}
	var best *semver.Version
	for ref := range list.References {
		name, isTag := strings.CutPrefix(ref, tags)
		if !isTag || !isSafeRef(name) {
			continue
		}
		version, err := semver.NewVersion(name)
		if err != nil || !allowed.Check(version) {
			continue
		}
		if best == nil || version.GreaterThan(best) || (version.Equal(best) && name > best.Original()) {
			best = version
		}
	}
	if best == nil {
		return target{}, configErrorf("the repository has no tag with a version in the range %s", text)
	}
	return resolveTag(best.Original(), list)
}

// resolveHead finds the newest commit of the default branch.
func resolveHead(list *packp.AdvRefs) (target, error) {
	if list.Head == nil {
		return target{}, configErrorf("the repository has no commit on its default branch: set spec.ref.branch")
	}
	t := target{"HEAD", *list.Head, *list.Head}
	for _, link := range list.Capabilities.Get(capability.SymRef) {
		name, isHead := strings.CutPrefix(link, "HEAD:"+branches)
		if isHead && isSafeRef(name) && list.References[branches+name] == *list.Head {
			t.ref = branches + name
		}
	}
	return t, nil
}
