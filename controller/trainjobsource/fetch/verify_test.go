package fetch

import (
	"bytes"
	"crypto/dsa" //nolint:staticcheck // the test checks that such keys are refused
	"crypto/rsa"
	"errors"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/gitserver"
)

// newSigner returns a new key for signatures. The arguments "age" and "life" are the age and the lifetime of the key in
// hours. A key with a lifetime of 0 never expires.
func newSigner(t *testing.T, age, life int) *openpgp.Entity {
	t.Helper()
	created := time.Now().Add(-time.Duration(age) * time.Hour)
	config := &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return created }, KeyLifetimeSecs: uint32(life * 3600)}
	signer, err := openpgp.NewEntity("robot", "", "robot@example.com", config)
	check(t, err)
	return signer
}

func publicKey(t *testing.T, signers ...*openpgp.Entity) string {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	check(t, err)
	for _, signer := range signers {
		check(t, signer.Serialize(w))
	}
	check(t, w.Close())
	return b.String() + "\n"
}

func ring(t *testing.T, packets ...packet.Packet) string {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	check(t, err)
	for _, p := range packets {
		check(t, p.(interface{ Serialize(w io.Writer) error }).Serialize(w))
	}
	check(t, w.Close())
	return b.String()
}

func sign(t *testing.T, signer *openpgp.Entity, text string) string {
	t.Helper()
	return signAt(t, signer, signer.PrimaryKey.CreationTime, text)
}

func signAt(t *testing.T, signer *openpgp.Entity, at time.Time, text string) string {
	t.Helper()
	var b bytes.Buffer
	config := &packet.Config{Time: func() time.Time { return at }}
	check(t, openpgp.ArmoredDetachSign(&b, signer, strings.NewReader(text), config))
	return b.String()
}

func signCommit(t *testing.T, signer *openpgp.Entity, text string) string {
	return addSignature(text, sign(t, signer, text))
}

func addSignature(text, signature string) string {
	head, message, _ := strings.Cut(text, "\n\n")
	return head + "\ngpgsig " + strings.ReplaceAll(signature, "\n", "\n ") + "\n\n" + message
}

func TestSignatures(t *testing.T) {
	s := gitserver.New(t)
	r, unsigned := newRepository(t, s)
	text, err := r.Git("cat-file", "commit", unsigned)
	check(t, err)
	text += "\n" // the helper cuts off the last line break
	signer, other, expired, revoked := newSigner(t, 0, 0), newSigner(t, 0, 0), newSigner(t, 3, 1), newSigner(t, 1, 0)
	signed, byOther := signCommit(t, signer, text), signCommit(t, other, text)
	byExpired, byRevoked := signCommit(t, expired, text), signCommit(t, revoked, text)
	ofTomorrow := addSignature(text, signAt(t, signer, time.Now().Add(24*time.Hour), text))
	check(t, revoked.RevokeKey(packet.KeyCompromised, "stolen", nil))
	const (
		noSignature = "has no OpenPGP signature"
		unknown     = "is signed with a key that is not in the Secret of spec.verify"
		invalid     = "has an invalid signature"
		malformed   = "the commit or tag is malformed"
	)
	tree, _, _ := strings.Cut(text, "\n")
	for name, tc := range map[string]struct{ commit, want string }{
		"signed":                      {signed, ""},
		"signed by the second key":    {byOther, ""},
		"signed with a SHA-256 twin":  {strings.Replace(signed, "\ngpgsig ", "\ngpgsig-sha256 x\n y\ngpgsig ", 1), ""},
		"unsigned":                    {text, noSignature},
		"an unknown key":              {signCommit(t, newSigner(t, 0, 0), text), unknown},
		"an expired key":              {byExpired, "is signed with an expired key"},
		"a signature of tomorrow":     {ofTomorrow, "has a signature that is expired, or was made in the future"},
		"a revoked key":               {byRevoked, "is signed with a revoked key"},
		"a signature with SSH":        {addSignature(text, "-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----"), noSignature},
		"another message":             {strings.Replace(signed, "\n\nchange", "\n\nchanged", 1), invalid},
		"another author":              {strings.Replace(signed, "author author", "author nobody", 1), invalid},
		"another tree":                {strings.Replace(signed, tree, "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904", 1), invalid},
		"another header":              {strings.Replace(signed, "\ngpgsig ", "\nencoding latin1\ngpgsig ", 1), invalid},
		"a signature of garbage":      {addSignature(text, beginSignature+"\n\nabc\n-----END PGP SIGNATURE-----"), invalid},
		"A27, two signatures":         {strings.Replace(signed, "\ngpgsig ", "\ngpgsig x\ngpgsig ", 1), malformed},
		"A27, two trees":              {strings.Replace(signed, tree+"\n", tree+"\n"+tree+"\n", 1), malformed},
		"A27, a tree at the end":      {strings.Replace(signed, "\ngpgsig ", "\n"+tree+"\ngpgsig ", 1), malformed},
		"A27, a parent at the end":    {strings.Replace(signed, "\ngpgsig ", "\nparent "+unsigned+"\ngpgsig ", 1), malformed},
		"A27, two authors":            {strings.Replace(signed, "\ncommitter ", "\nauthor a <a> 1 +0000\ncommitter ", 1), malformed},
		"A27, no author":              {strings.Replace(signed, "\nauthor ", "\nwriter ", 1), malformed},
		"A27, a tree in upper case":   {strings.Replace(signed, tree, "tree "+strings.ToUpper(tree[5:]), 1), malformed},
		"A27, a zero byte":            {strings.Replace(signed, "\n\nchange", "\n\n\x00change", 1), malformed},
		"A27, a header without value": {strings.Replace(signed, "\ngpgsig ", "\nx\ngpgsig ", 1), malformed},
	} {
		t.Run(name, func(t *testing.T) {
			hash, err := r.Put("commit", "refs/heads/signed", []byte(tc.commit))
			check(t, err)
			keys := values("a.asc", publicKey(t, signer, expired), "b.asc", publicKey(t, revoked)+publicKey(t, other))
			request := Request{URL: s.HTTP(r.Name), Ref: v1alpha1.GitRef{Branch: "signed"}, Keys: keys}
			got, err := newFetcher(t, Limits{}, request.URL).Fetch(t.Context(), request)
			var verify *VerifyError
			switch {
			case tc.want == "" && (err != nil || got.Commit != hash || got.Files == nil):
				t.Errorf("got %+v, error %v", got, err)
			case tc.want == malformed && (err == nil || err.Error() != "fetching "+request.URL+": "+malformed):
				t.Errorf("got %v, want %s", err, malformed)
			case tc.want != "" && tc.want != malformed && (!errors.As(err, &verify) || err.Error() != "fetching "+request.URL+": commit "+hash+" "+tc.want):
				t.Errorf("got %T %v, want a VerifyError: %s", err, err, tc.want)
			}
		})
	}
}

// TestA27Commits checks that parseCommit refuses malformed commits. Git's own programs refuse to store
// them, but a server can send them.
func TestA27Commits(t *testing.T) {
	const tree = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	const people = "\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000"
	if c, err := parseCommit([]byte(tree + people + "\n\n")); err != nil || string(c.signed) != tree+people+"\n\n" {
		t.Errorf("an empty message: got %+v, error %v", c, err)
	}
	for name, text := range map[string]string{
		"nothing": "", "no message": tree + people + "\n", "no people": tree + "\n\nchange\n", "no tree": people[1:] + "\n\nchange\n",
		"a tree with more": tree + " " + people + "\n\nchange\n", "a continued line at the start": " x\n" + tree + people + "\n\nchange\n",
		"a tree on two lines": tree + "\n x" + people + "\n\nchange\n", "a short parent": tree + "\nparent 4b825d" + people + "\n\nchange\n",
	} {
		if c, err := parseCommit([]byte(text)); err == nil {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

// TestTagSignatures: if a tag is signed, the commit itself needs no signature.
func TestTagSignatures(t *testing.T) {
	s := gitserver.New(t)
	r, hash := newRepository(t, s)
	signer := newSigner(t, 0, 0)
	content := "object " + hash + "\ntype commit\ntag v1.0.0\ntagger a <a@example.com> 1 +0000\n\nrelease\n"
	tagText := content + sign(t, signer, content)
	if !strings.HasSuffix(tagText, "\n") {
		tagText += "\n"
	}
	for ref, text := range map[string]string{
		"v1.0.0": tagText, "v9.0.0": tagText, "v2.0.0": strings.Replace(tagText, "v1.0.0", "v2.0.0", 1), "v3.0.0": strings.Replace(content, "v1.0.0", "v3.0.0", 1),
	} {
		_, err := r.Put("tag", "refs/tags/"+ref, []byte(text))
		check(t, err)
	}
	_, err := r.Git("update-ref", "refs/tags/v4.0.0", hash)
	check(t, err)
	for name, tc := range map[string]struct {
		ref  v1alpha1.GitRef
		want string
	}{
		"signed":              {v1alpha1.GitRef{Tag: "v1.0.0"}, ""},
		"found by a range":    {v1alpha1.GitRef{Semver: "<2"}, ""},
		"with another name":   {v1alpha1.GitRef{Tag: "v9.0.0"}, `reference refs/tags/v9.0.0 points to a tag that was signed under another name, "v1.0.0", so the signature is not accepted`},
		"changed":             {v1alpha1.GitRef{Tag: "v2.0.0"}, "commit " + hash + " has an invalid signature"},
		"unsigned":            {v1alpha1.GitRef{Tag: "v3.0.0"}, "commit " + hash + " has no OpenPGP signature"},
		"not annotated":       {v1alpha1.GitRef{Tag: "v4.0.0"}, "commit " + hash + " has no OpenPGP signature"},
		"the commit's branch": {v1alpha1.GitRef{Branch: "main"}, "commit " + hash + " has no OpenPGP signature"},
	} {
		t.Run(name, func(t *testing.T) {
			request := Request{URL: s.HTTP(r.Name), Ref: tc.ref, Keys: values("a", publicKey(t, signer))}
			got, err := newFetcher(t, Limits{}, request.URL).Fetch(t.Context(), request)
			if tc.want == "" {
				if err != nil || got.Commit != hash {
					t.Errorf("got %+v, error %v", got, err)
				}
				return
			}
			if verify := (*VerifyError)(nil); !errors.As(err, &verify) || err.Error() != "fetching "+request.URL+": "+tc.want {
				t.Errorf("got %T %v, want a VerifyError: %s", err, err, tc.want)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	s := gitserver.New(t)
	r, _ := newRepository(t, s)
	signer := newSigner(t, 0, 0)
	key, certification := publicKey(t, signer), signer.PrimaryIdentity().SelfSignature
	large := new(big.Int).Lsh(big.NewInt(1), 9000)
	largeRSA := packet.NewRSAPublicKey(time.Now(), &rsa.PublicKey{N: large, E: 65537})
	oldKey := packet.NewDSAPublicKey(time.Now(), &dsa.PublicKey{Parameters: dsa.Parameters{P: large, Q: large, G: large}, Y: large})
	for name, tc := range map[string]struct {
		keys map[string][]byte
		want string
	}{
		"no key":                  {values(), "the Secret of spec.verify contains no OpenPGP key"},
		"an empty value":          {values("a", key, "b", ""), `the entry "b" of the Secret of spec.verify contains no OpenPGP key`},
		"garbage":                 {values("a", "garbage"), `the entry "a" of the Secret of spec.verify contains no OpenPGP key`},
		"a block without content": {values("a", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabcd\n-----END PGP PUBLIC KEY BLOCK-----\n"), `the entry "a" of the Secret of spec.verify cannot be used as an armored OpenPGP key ring: `},
		"a DSA key":               {values("a", key, "b", ring(t, oldKey)), `the entry "b" of the Secret of spec.verify cannot be used as an armored OpenPGP key ring: DSA and ElGamal keys are not allowed: use RSA or an elliptic curve`},
		"a large RSA key":         {values("a", ring(t, largeRSA)), `the entry "a" of the Secret of spec.verify cannot be used as an armored OpenPGP key ring: an RSA key has more than 8192 bits`},
		"many signatures":         {values("a", key, "b", ring(t, slices.Repeat([]packet.Packet{certification}, 500)...)), `the entry "b" of the Secret of spec.verify cannot be used as an armored OpenPGP key ring: the keys have more than 500 signatures in total`},
		"a large value":           {values("a", strings.Repeat("x", maxValue+1)), `the entry "a" of the Secret of spec.verify is larger than 256 KiB`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newFetcher(t, Limits{}, s.HTTP(r.Name)).Fetch(t.Context(), Request{URL: s.HTTP(r.Name), Keys: tc.keys})
			if config := (*ConfigError)(nil); !errors.As(err, &config) || !strings.HasPrefix(err.Error(), "fetching "+s.HTTP(r.Name)+": "+tc.want) {
				t.Errorf("got %T %v, want a ConfigError: %s", err, err, tc.want)
			}
		})
	}
}

// TestA27LinearHistory checks that a new commit is accepted only if it descends from the commit that was fetched last.
// For this check, the fetcher needs the history of the new commit, but not the files in this history. In the test case
// "http", the server can send the history without the files. In the test case "ssh", the server cannot leave out the
// files.
func TestA27LinearHistory(t *testing.T) {
	for protocol, filter := range map[string]string{"http": "true", "ssh": "false"} {
		t.Run(protocol, func(t *testing.T) { testLinearHistory(t, protocol, filter) })
	}
}

func testLinearHistory(t *testing.T, protocol, filter string) {
	s := gitserver.New(t)
	r, first := newRepository(t, s)
	check(t, r.Configure("uploadpack.allowFilter", filter))
	check(t, r.Configure("uploadpack.allowAnySHA1InWant", "false")) // as on most servers
	second := commitFiles(t, r, map[string]string{"README.md": "two\n"})
	check(t, r.Branch("old"))
	_, err := r.Git("branch", "side", first)
	check(t, err)
	_, err = r.Git("symbolic-ref", "HEAD", "refs/heads/side")
	check(t, err)
	side := commitFiles(t, r, map[string]string{"side.yaml": "a: 1\n"})
	_, err = r.Git("symbolic-ref", "HEAD", "refs/heads/main")
	check(t, err)
	merge, err := r.Git("commit-tree", "-p", second, "-p", side, "-m", "merge", second+"^{tree}")
	check(t, err)
	_, err = r.Git("update-ref", "refs/heads/main", merge)
	check(t, err)
	check(t, r.Tag("v1.0.0", "annotated"))
	revert := commitFiles(t, r, map[string]string{"README.md": "jobs\n"})
	const no = "no"
	for name, tc := range map[string]struct {
		ref            v1alpha1.GitRef
		ancestor, want string
	}{
		"from the first commit":  {v1alpha1.GitRef{}, first, revert},
		"from the second commit": {v1alpha1.GitRef{}, second, revert},
		"from the other parent":  {v1alpha1.GitRef{}, side, revert},
		"from the merge":         {v1alpha1.GitRef{}, merge, revert},
		"from itself":            {v1alpha1.GitRef{}, revert, revert},
		"to an annotated tag":    {v1alpha1.GitRef{Tag: "v1.0.0"}, first, merge},
		"to a commit":            {v1alpha1.GitRef{Commit: revert}, first, revert},
		"back":                   {v1alpha1.GitRef{Branch: "old"}, revert, no},
		"back, by a tag":         {v1alpha1.GitRef{Tag: "v1.0.0"}, revert, no},
		"to another branch":      {v1alpha1.GitRef{Branch: "side"}, second, no},
		"from an unknown commit": {v1alpha1.GitRef{}, strings.Repeat("ab", 20), no},
	} {
		t.Run(name, func(t *testing.T) {
			request := Request{URL: s.HTTP(r.Name), Ref: tc.ref, Ancestor: tc.ancestor}
			if protocol == "ssh" {
				request.URL, request.SecretHosts = s.SSH(r.Name), hostOf(t, s.SSH(r.Name))
				request.Secret = values("identity", string(s.Identity()), "known_hosts", string(s.KnownHosts()))
			}
			got, err := newFetcher(t, Limits{}, s.HTTP(r.Name)).Fetch(t.Context(), request)
			verify := (*VerifyError)(nil)
			if tc.want == no && (!errors.As(err, &verify) || !strings.Contains(err.Error(), " does not descend from commit "+tc.ancestor+", ")) {
				t.Errorf("got %T %v, want a VerifyError", err, err)
			} else if tc.want != no && (err != nil || got.Commit != tc.want) {
				t.Errorf("got %+v, error %v", got, err)
			}
		})
	}
}

// TestHistoryWithoutFiles checks that large files of earlier commits are not downloaded if the server can leave them out.
func TestHistoryWithoutFiles(t *testing.T) {
	s := gitserver.New(t)
	r, first := newRepository(t, s)
	commitFiles(t, r, map[string]string{"large": noise(300 << 10)})
	last := commitFiles(t, r, map[string]string{"large": ""})
	f := newFetcher(t, Limits{Received: 100 << 10}, s.HTTP(r.Name))
	for filter, want := range map[string]string{"true": "", "false": "the server sent more than 100 KiB"} {
		check(t, r.Configure("uploadpack.allowFilter", filter))
		got, err := f.Fetch(t.Context(), Request{URL: s.HTTP(r.Name), Ancestor: first})
		if want == "" && (err != nil || got.Commit != last) {
			t.Errorf("with filter: got %+v, error %v", got, err)
		} else if want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("without filter: got %v, want %s", err, want)
		}
	}
}

// TestHistoryBeforeFiles checks that the files of a commit are not downloaded if the commit does not descend from the
// commit that was fetched last. The test also fetches a commit whose history is too large. The error of this fetch must
// name the history, and must not say that the commit is too large.
func TestHistoryBeforeFiles(t *testing.T) {
	s := gitserver.New(t)
	r, first := newRepository(t, s)
	for _, text := range []string{"1", "2", "3"} {
		commitFiles(t, r, map[string]string{"README.md": text})
	}
	unknown := strings.Repeat("ab", 20)
	for name, tc := range map[string]struct {
		limits         Limits
		ancestor, want string
	}{
		"a forced push":   {Limits{}, unknown, " does not descend from commit " + unknown + ", "},
		"a large history": {Limits{Objects: 8}, first, "the history after commit " + first + " has 9 Git objects (files, folders and commits), want at most 8"},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.Packs()
			_, err := newFetcher(t, tc.limits, s.HTTP(r.Name)).Fetch(t.Context(), Request{URL: s.HTTP(r.Name), Ancestor: tc.ancestor})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if packs := s.Packs() - before; packs != 1 {
				t.Errorf("the server sent %d packs, want 1", packs)
			}
		})
	}
}
