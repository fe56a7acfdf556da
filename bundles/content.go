package bundles

import (
	"bytes"
	"crypto/sha256"
	"io"
)

// Content is what a file holds, in pieces. Objects of one shape share most of
// theirs, so that a bundle takes far less memory than it has bytes. Nobody may
// change the pieces.
type Content [][]byte

// Text is content in one piece.
func Text(text []byte) Content { return Content{text} }

// Len is the number of bytes.
func (c Content) Len() int {
	n := 0
	for _, piece := range c {
		n += len(piece)
	}
	return n
}

// Bytes puts the pieces together.
func (c Content) Bytes() []byte { return bytes.Join(c, nil) }

// WriteTo writes the pieces one by one: they are short, so the writer should
// have a buffer.
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

// digest is a SHA-256.
type digest [sha256.Size]byte

// bufferSize is that of the buffers before files and streams.
const bufferSize = 64 << 10 // bytes

// digest is that of all the pieces together.
func (c Content) digest() (d digest) {
	h := sha256.New()
	_, _ = c.WriteTo(h) // a hash takes everything
	h.Sum(d[:0])
	return d
}
