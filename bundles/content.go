package bundles

import (
	"bytes"
	"crypto/sha256"
	"io"
)

// Content is the content of a file, split into pieces. In the file of an object, a piece is the value of a parameter,
// or the text between two such values. If objects have the same shape, their files differ only in the values of
// parameters. The other pieces of these files are the same, and are stored in memory only once. Therefore a bundle
// needs far less memory than the total size of its files. Callers must not modify the pieces of a Content.
type Content [][]byte

// Text returns a Content that consists of one piece.
func Text(text []byte) Content { return Content{text} }

// Len returns the number of bytes of the content.
func (c Content) Len() int {
	n := 0
	for _, piece := range c {
		n += len(piece)
	}
	return n
}

// Bytes joins the pieces.
func (c Content) Bytes() []byte { return bytes.Join(c, nil) }

// WriteTo makes one call of w.Write for each piece of the content. The pieces of a Content are short, so
// the caller should pass a buffered writer to WriteTo.
func (c Content) WriteTo(w io.Writer) (written int64, err error) {
	for _, piece := range c {
		n, err := w.Write(piece)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

type digest [sha256.Size]byte

const bufferSize = 64 << 10 // bytes

func (c Content) digest() (d digest) {
	h := sha256.New()
	_, _ = c.WriteTo(h) // writing to a hash never fails
	h.Sum(d[:0])
	return d
}
