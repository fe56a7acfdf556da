package bundles

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"
)

func TestContentIsItsPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var c Content
		var want []byte
		for range random.IntN(20) {
			piece := bytes.Repeat([]byte{byte('a' + random.IntN(26))}, random.IntN(3)*random.IntN(100))
			c, want = append(c, piece), append(want, piece...)
		}
		var b bytes.Buffer
		n, err := c.WriteTo(&b)
		if err != nil || n != int64(len(want)) || c.Len() != len(want) {
			t.Fatalf("WriteTo() = %d, %v and Len() = %d, want %d", n, err, c.Len(), len(want))
		}
		if !bytes.Equal(b.Bytes(), want) || !bytes.Equal(c.Bytes(), want) {
			t.Fatal("want the bytes of all pieces from WriteTo and Bytes, got other bytes")
		}
		if c.digest() != digest(sha256.Sum256(want)) {
			t.Fatal("want the digest of the joined pieces, got another digest")
		}
	}
}
