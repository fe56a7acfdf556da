package artifact_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/trainyard/trainyard/bundles/artifact"
)

type text string

func (t text) Len() int { return len(t) }

func (t text) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, string(t))
	return int64(n), err
}

// threeFiles returns the three files that the tests pack into an artifact. The path of one file is too long for the
// oldest tar format. The content of the third file fills many blocks of a tar archive.
func threeFiles() []artifact.Entry {
	var long bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&long, "key-%d: value-%d\n", i*i%7919, i%13)
	}
	return []artifact.Entry{
		{Path: "cluster/a.yaml", Content: text("kind: A\n")},
		{Path: "cluster/" + fmt.Sprintf("%0120d", 1) + ".yaml", Content: text("")},
		{Path: "namespaces/long.yaml", Content: text(long.String())},
	}
}

// TestBytesNeverChange checks that an artifact has the same digest on all machines and with all versions of Go,
// because people pin the digest. If TestBytesNeverChange fails after an update of a library, the new version of
// the library packs files differently. If the digests of artifacts change, docs/oci.md and the release notes
// must tell users about the new digests.
func TestBytesNeverChange(t *testing.T) {
	a, err := artifact.OfFiles(threeFiles(), map[string]string{"org.opencontainers.image.title": "acme"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.Pack()
	if err != nil {
		t.Fatal(err)
	}
	const want = "sha256:27a0dc15be6afaec0838badd295cb11ae45b7c5e939e996a46a842e57faba3fe"
	if p.Digest() != want {
		t.Errorf("the digest is %s, want %s as before", p.Digest(), want)
	}
}

func TestArtifactsOfOtherContentDiffer(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(all []artifact.Entry, annotations map[string]string){
		"as it is":           func([]artifact.Entry, map[string]string) {},
		"another text":       func(all []artifact.Entry, _ map[string]string) { all[0].Content = text("kind: B\n") },
		"another path":       func(all []artifact.Entry, _ map[string]string) { all[0].Path = "cluster/b.yaml" },
		"another annotation": func(_ []artifact.Entry, annotations map[string]string) { annotations["a"] = "c" },
	} {
		all, annotations := threeFiles(), map[string]string{"a": "b"}
		change(all, annotations)
		a, err := artifact.OfFiles(all, annotations)
		if err != nil {
			t.Fatal(err)
		}
		p, err := a.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[p.Digest()]; twice {
			t.Errorf("%s and %s are the same artifact", name, other)
		}
		seen[p.Digest()] = name
	}
}
