package fetch

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// pack is a builder of Git packs, including invalid packs.
type pack struct {
	body  bytes.Buffer
	count uint32
}

func (p *pack) header(kind plumbing.ObjectType, declared int) {
	first := byte(kind)<<4 | byte(declared&15)
	for declared >>= 4; declared > 0; declared >>= 7 {
		p.body.WriteByte(first | 0x80)
		first = byte(declared & 0x7f)
	}
	p.body.WriteByte(first)
	p.count++
}

func (p *pack) deflate(data []byte) {
	w := zlib.NewWriter(&p.body)
	_, _ = w.Write(data) // writing to memory does not fail
	_ = w.Close()
}

func (p *pack) add(kind plumbing.ObjectType, data string) plumbing.Hash {
	p.header(kind, len(data))
	p.deflate([]byte(data))
	return plumbing.ComputeHash(kind, []byte(data))
}

func (p *pack) addCommit(tree plumbing.Hash) plumbing.Hash {
	return p.add(plumbing.CommitObject, commitText(tree))
}

func commitText(tree plumbing.Hash) string {
	return fmt.Sprintf("tree %s\nauthor a <a@example.com> 1 +0000\ncommitter a <a@example.com> 1 +0000\n\nchange\n", tree)
}

func treeEntry(mode, name string, hash plumbing.Hash) string {
	return mode + " " + name + "\x00" + string(hash[:])
}

// start returns the pack without the checksum at its end.
func (p *pack) start() []byte {
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), p.count)
	return append(head, p.body.Bytes()...)
}

func (p *pack) bytes() []byte {
	text := p.start()
	sum := sha1.Sum(text)
	return append(text, sum[:]...)
}

// line encodes a text in the format of a line in Git's protocol (a pkt-line).
func line(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

const capabilities = "\x00shallow ofs-delta symref=HEAD:refs/heads/main"

// liar is a fake Git server. Each field of liar replaces a part of the server's answers.
type liar struct {
	refs   string                                       // instead of the list of branches and tags
	list   func(w http.ResponseWriter, r *http.Request) // instead of the whole first answer
	head   plumbing.Hash                                // the newest commit of main
	pack   []byte                                       // the pack
	answer func(conn net.Conn, start string)            // instead of the pack; start is the beginning of the answer
}

func (l liar) start(t *testing.T) string {
	t.Helper()
	if l.head.IsZero() {
		l.head = plumbing.NewHash(oneHash)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jobs.git/info/refs", func(w http.ResponseWriter, r *http.Request) {
		if l.list != nil {
			l.list(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		refs := l.refs
		if refs == "" {
			refs = line(l.head.String()+" HEAD"+capabilities+"\n") + line(l.head.String()+" refs/heads/main\n") + "0000"
		}
		_, _ = io.WriteString(w, line("# service=git-upload-pack\n")+"0000"+refs)
	})
	mux.HandleFunc("POST /jobs.git/git-upload-pack", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		start := line("shallow "+l.head.String()) + "0000" + line("NAK\n")
		if l.answer == nil {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			_, _ = io.WriteString(w, start+string(l.pack))
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		l.answer(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-result\r\n\r\n"+start)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/jobs.git"
}

func repeat(w io.Writer, text string) {
	for {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

func waitForClient(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// noise returns text that does not compress.
func noise(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		sum := sha1.Sum(binary.BigEndian.AppendUint64(nil, uint64(i)))
		b.Write(sum[:])
	}
	return b.String()[:n]
}
