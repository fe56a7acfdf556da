package fetch

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Request selects a commit, and says how it is fetched and verified.
type Request struct {
	// URL is the address of the repository, as in spec.url.
	URL string
	// Ref selects the commit. The zero value of Ref selects the newest commit of the default
	// branch.
	Ref v1alpha1.GitRef
	// Secret is the data of the Secret with the credentials, or nil if there are no credentials.
	Secret map[string][]byte
	// SecretHosts is the value of the annotation trainyard.dev/hosts of the Secret. It lists the
	// hosts to which the credentials may be sent.
	SecretHosts string
	// Keys are the key rings of spec.verify.secretRef. If Keys is nil, signatures are not verified.
	Keys map[string][]byte
	// Ancestor is a commit from which the fetched commit must descend. If Ancestor is empty, the history is not checked.
	Ancestor string
	// Known is the hash of the commit that the caller already has. If Ref still selects this commit, Fetch neither
	// downloads nor verifies the commit. If the caller needs a new verification of the commit, the caller leaves the
	// field Known empty.
	Known string
}

// Result is a fetched commit.
type Result struct {
	// Commit is the hash of the commit.
	Commit string
	// Ref is the full name of the branch or tag, such as refs/heads/main. Ref is empty for a commit that was selected by
	// its hash. Ref is HEAD if the server does not name its default branch.
	Ref string
	// Files are the files of the commit, in memory. Links and submodules appear in folders, but cannot be opened. If
	// the hash of the commit equals Request.Known, the caller already has the commit, and Files is nil.
	Files fs.FS
}

// Options are the settings of a Fetcher.
type Options struct {
	// Folder holds temporary files, which contain only public keys of SSH servers. The default is the system's folder for
	// temporary files.
	Folder string
	// Limits contains the limits for each fetch. If a limit is zero, the default of this limit applies.
	Limits Limits
	// Network restricts the servers to which the Fetcher connects.
	Network Network
}

// Fetcher fetches commits. A Fetcher keeps no data between two fetches, and several fetches can run at the
// same time.
type Fetcher struct{ options Options }

// New returns a Fetcher. New returns an error if the folder for temporary files does not exist.
func New(options Options) (*Fetcher, error) {
	options.Limits = options.Limits.orDefaults()
	if options.Folder == "" {
		options.Folder = os.TempDir()
	}
	if info, err := os.Stat(options.Folder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the folder for temporary files does not exist: %s", options.Folder)
	}
	return &Fetcher{options}, nil
}

// Fetch fetches a commit. The returned error is a *ConfigError, a *VerifyError, or another error, which may be
// temporary. The text of an error has one line, and contains no credentials.
func (f *Fetcher) Fetch(ctx context.Context, r Request) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Limits.Time)
	defer cancel()
	secrets := listSecrets(r.Secret)
	a, err := parseAddress(r.URL)
	if err != nil {
		return Result{}, describe(ctx, err, "the repository", nil, secrets)
	}
	received := &budget{limit: f.options.Limits.Received}
	result, err := f.fetch(ctx, a, r, received)
	if err != nil {
		return Result{}, describe(ctx, err, a.String(), received, secrets)
	}
	return result, nil
}

func (f *Fetcher) fetch(ctx context.Context, a address, r Request, received *budget) (Result, error) {
	if err := f.options.Network.checkScheme(a); err != nil {
		return Result{}, err
	}
	if err := checkRef(r.Ref); err != nil {
		return Result{}, err
	}
	if r.Ancestor != "" && !fullHash.MatchString(r.Ancestor) {
		return Result{}, fmt.Errorf("the commit that was fetched last has an invalid hash: want 40 hexadecimal digits in lower case, got %q", r.Ancestor)
	}
	server, err := f.connect(ctx, a, r, received)
	if err != nil {
		return Result{}, err
	}
	defer server.close()
	return f.exchange(ctx, server, r)
}

// connect checks the credentials and connects to the server.
func (f *Fetcher) connect(ctx context.Context, a address, r Request, received *budget) (remote, error) {
	c, err := readCredentials(a, r)
	if err != nil {
		return nil, err
	}
	d := dialer{f.options.Network, received}
	if a.scheme == "ssh" {
		server, err := newSSHRemote(ctx, a, c, d, f.options.Folder, f.options.Limits)
		if err != nil {
			return nil, err
		}
		return server, nil
	}
	return newHTTPRemote(a, c, d, f.options.Limits.Answer), nil
}

// exchange finds the commit that the request selects. If the caller does not have this commit yet, the method
// "exchange" also downloads and verifies the commit.
func (f *Fetcher) exchange(ctx context.Context, server remote, r Request) (Result, error) {
	stream, err := server.advertisement(ctx)
	if err != nil {
		return Result{}, err
	}
	list, err := readAdvertisement(stream, f.options.Limits.Refs)
	if err != nil {
		return Result{}, err
	}
	selected, err := resolve(r.Ref, list)
	if err != nil {
		return Result{}, err
	}
	result := Result{Commit: selected.commit.String(), Ref: selected.ref}
	if result.Commit == r.Known {
		return result, nil
	}
	if err := f.verifyHistory(ctx, server, list, r, selected); err != nil {
		return Result{}, err
	}
	downloaded, err := f.download(ctx, server, list, selected)
	if err != nil {
		return Result{}, err
	}
	if r.Keys != nil {
		if err := verify(r.Keys, downloaded); err != nil {
			return Result{}, err
		}
	}
	result.Files, err = newTree(downloaded.all, downloaded.commit.tree)
	return result, err
}

// download is the result of receiving one commit from the Git server.
type download struct {
	all      objects
	selected target
	commit   commit
	tag      *tag // the annotated tag that was selected, or nil
}

// download receives a commit without its history.
func (f *Fetcher) download(ctx context.Context, server remote, list *packp.AdvRefs, selected target) (download, error) {
	d := download{selected: selected}
	pack, err := requestSnapshot(ctx, server, list, selected.object)
	if err != nil {
		return d, err
	}
	if d.all, err = readPack(pack, "commit", f.options.Limits); err != nil {
		return d, err
	}
	if d.tag, err = d.all.follow(selected); err != nil {
		return d, err
	}
	data, err := d.all.get(selected.commit, plumbing.CommitObject)
	if err != nil {
		return d, err
	}
	d.commit, err = parseCommit(data)
	return d, err
}

// follow returns an error if selected.object does not lead to the commit selected.commit. The object must be this
// commit, or an annotated tag that points to this commit, directly or through other tags. If the object is a tag, the
// result "first" is this tag.
func (o objects) follow(selected target) (first *tag, err error) {
	hash := selected.object
	for o[hash].kind == plumbing.TagObject {
		t, err := parseTag(o[hash].data)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = &t
		}
		hash = t.object
	}
	if hash != selected.commit {
		return nil, fmt.Errorf("reference %s points to object %s, but the server's list of branches and tags gives commit %s for this reference", selected.ref, hash, selected.commit)
	}
	return first, nil
}

// verify checks the signature of a commit, as spec.verify.secretRef requires.
func verify(rings map[string][]byte, d download) error {
	keys, err := readKeys(rings)
	if err != nil {
		return err
	}
	return verifySignature(keys, d)
}

// verifyHistory checks the condition spec.verify.linearHistory. The history and the files of a commit can each need
// Limits.Inflated bytes of memory. They must not be in memory at the same time, so the caller must call verifyHistory
// before it downloads the commit.
func (f *Fetcher) verifyHistory(ctx context.Context, server remote, list *packp.AdvRefs, r Request, selected target) error {
	if r.Ancestor == "" || r.Ancestor == selected.commit.String() {
		return nil
	}
	ancestor := plumbing.NewHash(r.Ancestor)
	pack, err := requestHistory(ctx, server, list, ancestor, selected.object)
	if err != nil {
		return err
	}
	history, err := readPack(pack, "history after commit "+r.Ancestor, f.options.Limits)
	if err != nil {
		return err
	}
	isLinear, err := descends(history, selected.commit, ancestor)
	if err == nil && !isLinear {
		err = verifyErrorf("spec.verify.linearHistory: commit %s does not descend from commit %s, which was fetched last: the branch was changed by a forced push, or leads to an older commit", selected.commit, ancestor)
	}
	return err
}
