package fetch

import (
	"errors"
	"io/fs"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/gitserver"
)

// loopback contains the addresses of the servers in the tests. By default, the controller does not connect to these
// addresses.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func newFetcher(t *testing.T, limits Limits, urls ...string) *Fetcher {
	t.Helper()
	options := Options{Folder: t.TempDir(), Limits: limits, Network: Network{Allow: loopback}}
	for _, url := range urls {
		options.Network.PlainHTTPHosts = append(options.Network.PlainHTTPHosts, hostOf(t, url))
	}
	f, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func hostOf(t *testing.T, url string) string {
	t.Helper()
	a, err := parseAddress(url)
	if err != nil {
		t.Fatal(err)
	}
	return a.hostPort()
}

func newRepository(t *testing.T, s *gitserver.Server) (*gitserver.Repository, string) {
	t.Helper()
	r, err := s.NewRepository("jobs")
	if err != nil {
		t.Fatal(err)
	}
	return r, commitFiles(t, r, map[string]string{"README.md": "jobs\n", "train/bert.yaml": "a: 1\n", "train/deep/gpt.yaml": "b: 1\n"})
}

func commitFiles(t *testing.T, r *gitserver.Repository, files map[string]string) string {
	t.Helper()
	check(t, r.Write(files))
	hash, err := r.Commit("change")
	check(t, err)
	return hash
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readAll(t *testing.T, files fs.FS) map[string]string {
	t.Helper()
	texts := map[string]string{}
	check(t, fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		texts[name] = string(text)
		return err
	}))
	return texts
}

func values(pairs ...string) map[string][]byte {
	secret := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		secret[pairs[i]] = []byte(pairs[i+1])
	}
	return secret
}

func TestTransports(t *testing.T) {
	s := gitserver.New(t)
	s.Password, s.Token = "secret of robot", "token of robot"
	r, want := newRepository(t, s)
	f := newFetcher(t, Limits{}, s.HTTP(r.Name))
	for name, request := range map[string]Request{
		"http":         {URL: s.HTTP(r.Name), Secret: values("username", gitserver.User, "password", s.Password)},
		"https":        {URL: s.HTTPS(r.Name), Secret: values("username", gitserver.User, "password", s.Password+"\n", "ca.crt", string(s.Authority()))},
		"https, token": {URL: s.HTTPS(r.Name), Secret: values("bearerToken", s.Token, "ca.crt", string(s.Authority()))},
		"ssh":          {URL: s.SSH(r.Name), Secret: values("identity", string(s.Identity()), "known_hosts", string(s.KnownHosts()))},
	} {
		t.Run(name, func(t *testing.T) {
			request.SecretHosts = "git.example.com, " + hostOf(t, request.URL)
			got, err := f.Fetch(t.Context(), request)
			if err != nil || got.Commit != want || got.Ref != "refs/heads/main" {
				t.Fatalf("got %s of %s, error %v, want %s", got.Commit, got.Ref, err, want)
			}
			files := map[string]string{"README.md": "jobs\n", "train/bert.yaml": "a: 1\n", "train/deep/gpt.yaml": "b: 1\n"}
			if diff := cmp.Diff(files, readAll(t, got.Files)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if err := fstest.TestFS(got.Files, "README.md", "train/bert.yaml", "train/deep/gpt.yaml"); err != nil {
				t.Error(err)
			}
			request.Known, request.Ancestor = "", want
			if _, err := f.Fetch(t.Context(), request); err != nil {
				t.Errorf("fetching again: %v", err)
			}
		})
	}
}

func TestRefs(t *testing.T) {
	s := gitserver.New(t)
	r, first := newRepository(t, s)
	check(t, r.Branch("old/one"))
	check(t, r.Tag("v1.0.0", ""))
	check(t, r.Tag("1.2.0", "annotated"))
	second := commitFiles(t, r, map[string]string{"README.md": "changed\n"})
	check(t, r.Tag("v1.10.0", "annotated"))
	check(t, r.Tag("v2.0.0-rc.1", ""))
	check(t, r.Tag("nightly", ""))
	f := newFetcher(t, Limits{}, s.HTTP(r.Name))
	for name, tc := range map[string]struct {
		ref        v1alpha1.GitRef
		commit, to string
	}{
		"default":              {v1alpha1.GitRef{}, second, "refs/heads/main"},
		"branch":               {v1alpha1.GitRef{Branch: "old/one"}, first, "refs/heads/old/one"},
		"tag":                  {v1alpha1.GitRef{Tag: "nightly"}, second, "refs/tags/nightly"},
		"annotated tag":        {v1alpha1.GitRef{Tag: "1.2.0"}, first, "refs/tags/1.2.0"},
		"highest version":      {v1alpha1.GitRef{Semver: "1.x"}, second, "refs/tags/v1.10.0"},
		"range":                {v1alpha1.GitRef{Semver: ">=1.0.0 <1.10.0"}, first, "refs/tags/1.2.0"},
		"version before":       {v1alpha1.GitRef{Semver: ">=2.0.0-0"}, second, "refs/tags/v2.0.0-rc.1"},
		"commit":               {v1alpha1.GitRef{Commit: first}, first, ""},
		"newest, as commit":    {v1alpha1.GitRef{Commit: second}, second, ""},
		"no such branch":       {v1alpha1.GitRef{Branch: "new"}, "", "the repository has no branch new"},
		"no such tag":          {v1alpha1.GitRef{Tag: "main"}, "", "the repository has no tag main"},
		"no such version":      {v1alpha1.GitRef{Semver: ">=3"}, "", "the repository has no tag with a version in the range >=3"},
		"no range":             {v1alpha1.GitRef{Semver: "newest"}, "", `spec.ref.semver: "newest" is not a range of versions, such as >=1.2.0 <2.0.0`},
		"no such commit":       {v1alpha1.GitRef{Commit: strings.Repeat("0a", 20)}, "", "the repository does not contain the commit, or the server does not allow fetching this commit: upload-pack: not our ref " + strings.Repeat("0a", 20)},
		"several":              {v1alpha1.GitRef{Tag: "a", Branch: "b"}, "", "spec.ref must have only one of branch, tag, semver and commit"},
		"A4, out of refs":      {v1alpha1.GitRef{Branch: "../../HEAD"}, "", `spec.ref.branch: "../../HEAD" is not a valid name of a branch`},
		"A4, a lock file":      {v1alpha1.GitRef{Tag: "a.lock"}, "", `spec.ref.tag: "a.lock" is not a valid name of a tag`},
		"A6, an option":        {v1alpha1.GitRef{Branch: "--upload-pack=id"}, "", `spec.ref.branch: "--upload-pack=id" is not a valid name of a branch`},
		"A6, a hash as option": {v1alpha1.GitRef{Commit: "--exec"}, "", `spec.ref.commit: want 40 hexadecimal digits in lower case, got "--exec"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := f.Fetch(t.Context(), Request{URL: s.HTTP(r.Name), Ref: tc.ref})
			if tc.commit == "" {
				wantConfigError(t, err, "fetching "+s.HTTP(r.Name)+": "+tc.to)
				return
			}
			if err != nil || got.Commit != tc.commit || got.Ref != tc.to || got.Files == nil {
				t.Errorf("got %s of %q, error %v, want %s of %q", got.Commit, got.Ref, err, tc.commit, tc.to)
			}
		})
	}
}

func wantConfigError(t *testing.T, err error, want string) {
	t.Helper()
	if config := (*ConfigError)(nil); !errors.As(err, &config) || err.Error() != want {
		t.Errorf("got %T %v\nwant a ConfigError: %s", err, err, want)
	}
}

func TestKnownCommitIsNotDownloaded(t *testing.T) {
	s := gitserver.New(t)
	r, hash := newRepository(t, s)
	check(t, r.Tag("v1.0.0", "annotated"))
	f := newFetcher(t, Limits{}, s.HTTP(r.Name))
	for name, ref := range map[string]v1alpha1.GitRef{"branch": {Branch: "main"}, "annotated tag": {Tag: "v1.0.0"}, "commit": {Commit: hash}} {
		t.Run(name, func(t *testing.T) {
			before := s.Requests()
			got, err := f.Fetch(t.Context(), Request{URL: s.HTTP(r.Name), Ref: ref, Known: hash, Ancestor: hash})
			if err != nil || got.Commit != hash || got.Files != nil {
				t.Errorf("got %+v, error %v", got, err)
			}
			if used := s.Requests() - before; used != 1 || s.Packs() != 0 {
				t.Errorf("the fetch used %d requests and got %d packs, want 1 request and no pack", used, s.Packs())
			}
		})
	}
}

// TestChanges checks that a fetch finds the new commit after a tag was moved, and after a forced push. A fetch of a
// deleted branch must fail.
func TestChanges(t *testing.T) {
	s := gitserver.New(t)
	r, first := newRepository(t, s)
	check(t, r.Branch("feature"))
	check(t, r.Tag("stable", ""))
	f := newFetcher(t, Limits{}, s.HTTP(r.Name))
	fetch := func(ref v1alpha1.GitRef, known string) (Result, error) {
		return f.Fetch(t.Context(), Request{URL: s.HTTP(r.Name), Ref: ref, Known: known})
	}
	second := commitFiles(t, r, map[string]string{"README.md": "", "new.yaml": "c: 1\n"})
	check(t, r.Tag("stable", ""))
	got, err := fetch(v1alpha1.GitRef{Tag: "stable"}, first)
	check(t, err)
	want := map[string]string{"new.yaml": "c: 1\n", "train/bert.yaml": "a: 1\n", "train/deep/gpt.yaml": "b: 1\n"}
	if diff := cmp.Diff(want, readAll(t, got.Files)); diff != "" || got.Commit != second {
		t.Errorf("the moved tag leads to %s, want %s; files -want +got:\n%s", got.Commit, second, diff)
	}
	forced, err := r.ForcePush(map[string]string{"new.yaml": "c: 2\n"}, "other")
	check(t, err)
	if got, err := fetch(v1alpha1.GitRef{}, second); err != nil || got.Commit != forced || got.Files == nil {
		t.Errorf("after a forced push: got %+v, error %v, want %s", got, err, forced)
	}
	check(t, r.DeleteBranch("feature"))
	_, err = fetch(v1alpha1.GitRef{Branch: "feature"}, first)
	wantConfigError(t, err, "fetching "+s.HTTP(r.Name)+": the repository has no branch feature")
}

func TestEmptyRepository(t *testing.T) {
	s := gitserver.New(t)
	r, err := s.NewRepository("empty")
	check(t, err)
	f := newFetcher(t, Limits{}, s.HTTP(r.Name))
	_, err = f.Fetch(t.Context(), Request{URL: s.HTTP(r.Name)})
	wantConfigError(t, err, "fetching "+s.HTTP(r.Name)+": the repository is empty")
	_, err = f.Fetch(t.Context(), Request{URL: s.HTTP("other.git")})
	wantConfigError(t, err, "fetching "+s.HTTP("other.git")+": the repository does not exist, or the credentials do not allow reading it (status 404)")
	ssh := Request{URL: s.SSH("other.git"), Secret: values("identity", string(s.Identity()), "known_hosts", string(s.KnownHosts())), SecretHosts: hostOf(t, s.SSH(""+r.Name))}
	_, err = f.Fetch(t.Context(), ssh)
	if config := (*ConfigError)(nil); !errors.As(err, &config) || !strings.Contains(err.Error(), "does not appear to be a git repository") {
		t.Errorf("over ssh: %v", err)
	}
}
