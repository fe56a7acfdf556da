package bundles

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/trainyard/trainyard/generator/object"
)

// randomText returns random bytes, encoded as base64. The argument "size" is the number of random bytes, in KiB.
// After compression with gzip, the text is still at least as large as the random bytes.
func randomText(seed byte, size int) string {
	bytes := make([]byte, size<<10)
	random := rand.NewChaCha8([32]byte{seed})
	_, _ = random.Read(bytes) // never fails
	return base64.StdEncoding.EncodeToString(bytes)
}

func TestSizeOfPayloads(t *testing.T) {
	cases := map[string]struct {
		size, want int
		refused    bool
	}{
		"a payload of one ConfigMap":       {500, 1, false},
		"a payload of two":                 {600, 2, false},
		"a payload too large for a bundle": {700, 0, true},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			set, err := object.NewSet(thing(t, randomText(1, tc.size)))
			if err != nil {
				t.Fatal(err)
			}
			tree, err := olmPayload{}.Render(t.Context(), Bundle{Platform: "a", Objects: set})
			var missing *MissingError
			if refused := errors.As(err, &missing); refused != tc.refused || !refused && err != nil {
				t.Fatalf("Render() = %v, want a refusal: %v", err, tc.refused)
			}
			if tree.Len() != tc.want {
				t.Errorf("there are %d ConfigMaps, want %d", tree.Len(), tc.want)
			}
		})
	}
}
