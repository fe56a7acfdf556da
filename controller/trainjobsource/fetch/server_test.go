package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// The variable "small" contains low limits for the tests in which a server sends too much.
var small = Limits{Received: 1 << 20, Refs: 64 << 10, Objects: 100, Object: 256 << 10, Inflated: 512 << 10, Answer: 2 * time.Second, Time: 20 * time.Second}

// maxAllocated is the maximum number of bytes that a fetch with the limits "small" may allocate in total, including
// the allocations of the fake server.
const maxAllocated = 16 << 20

// wantError fetches from a server, and checks that the fetch ends soon with an error that is not a ConfigError.
// wantError also checks that the fetch needs little memory.
func wantError(t *testing.T, l liar, want string) {
	t.Helper()
	url := l.start(t)
	limits := small
	if want == late {
		limits.Time = time.Second
	}
	f := newFetcher(t, limits, url)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	got, err := f.Fetch(t.Context(), Request{URL: url})
	runtime.ReadMemStats(&after)
	var config *ConfigError
	if err == nil || errors.As(err, &config) || !strings.HasPrefix(err.Error(), "fetching "+url+": ") || !strings.Contains(err.Error(), want) || got.Files != nil {
		t.Errorf("Fetch() = %+v, %T %v\nwant an error with %q", got, err, err, want)
	}
	if took := time.Since(start); took > limits.Time+5*time.Second {
		t.Errorf("the fetch took %s", took)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > maxAllocated {
		t.Errorf("the fetch allocated %d MiB", used>>20)
	}
}

func TestA10LargeAnswers(t *testing.T) {
	zeros := make([]byte, 32<<20) // compresses to 32 KiB
	bomb := pack{}
	bomb.header(plumbing.BlobObject, len(zeros))
	bomb.deflate(zeros)
	hidden := pack{}
	hidden.header(plumbing.BlobObject, 100)
	hidden.deflate(zeros)
	short := pack{}
	short.header(plumbing.BlobObject, 100)
	short.deflate([]byte("short"))
	copies := pack{} // copies a base of 64 KiB a thousand times
	copies.add(plumbing.BlobObject, strings.Repeat("0", 64<<10))
	offset := copies.body.Len()
	delta := "\x80\x80\x04" + "\x80\x80\x80\x20" + strings.Repeat("\x80", 1024)
	copies.header(plumbing.OFSDeltaObject, len(delta))
	copies.body.Write(backwards(offset))
	copies.deflate([]byte(delta))
	many, together := pack{}, pack{}
	for i := range 101 {
		many.add(plumbing.BlobObject, fmt.Sprint(i))
	}
	for i := range 5 {
		together.add(plumbing.BlobObject, fmt.Sprint(i, strings.Repeat("0", 200<<10)))
	}
	for name, tc := range map[string]struct {
		server liar
		want   string
	}{
		"an object that inflates":          {liar{pack: bomb.bytes()}, "a file or folder of the commit is larger than 256 KiB"},
		"an object with a wrong size":      {liar{pack: hidden.bytes()}, "inflated object exceeds declared size"},
		"an object that is too short":      {liar{pack: short.bytes()}, "an object of the pack has 5 bytes, but its declared size is 100 bytes"},
		"a delta that copies":              {liar{pack: copies.bytes()}, "a file or folder of the commit is larger than 256 KiB"},
		"many objects":                     {liar{pack: many.bytes()}, "the commit has 101 Git objects (files, folders and commits), want at most 100"},
		"4 billion objects":                {liar{pack: []byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff")}, "the commit has 4294967295 Git objects (files, folders and commits), want at most 100"},
		"objects that are large together":  {liar{pack: together.bytes()}, "the files and folders of the commit are together larger than 512 KiB"},
		"a pack without end":               {liar{answer: func(conn net.Conn, start string) { repeatAfter(conn, start+emptyBlocks, emptyBlock) }}, "the server sent more than 1 MiB"},
		"progress without end":             {liar{refs: sidebandRefs, answer: func(conn net.Conn, start string) { repeatAfter(conn, start, line("\x02counting")) }}, "the server sent more than 1 MiB"},
		"acknowledgements without end":     {liar{answer: func(conn net.Conn, start string) { repeatAfter(conn, start, line("NAK\n")) }}, "the server sent more than 1 MiB"},
		"shallow commits without end":      {liar{answer: func(conn net.Conn, start string) { repeatAfter(conn, start[:len(start)-12], line("shallow "+zeroHash)) }}, "the server sent more than 1 MiB"},
		"branches without end":             {liar{list: endlessRefs}, "the server's list of branches and tags is larger than 64 KiB"},
		"headers of HTTP without end":      {liar{answer: func(conn net.Conn, _ string) { repeatAfter(conn, "HTTP/1.1 200 OK\r\n", "A: b\r\n") }}, "server response headers exceeded"},
		"one header of HTTP without end":   {liar{answer: func(conn net.Conn, _ string) { repeatAfter(conn, "HTTP/1.1 200 OK\r\nA: ", "bbbbbbbb") }}, "server response headers exceeded"},
		"continue answers without end":     {liar{answer: func(conn net.Conn, _ string) { repeatAfter(conn, "", "HTTP/1.1 100 Continue\r\n\r\n") }}, "server response headers exceeded"},
		"chunks of HTTP with long comment": {liar{answer: func(conn net.Conn, _ string) { repeatAfter(conn, chunked, "x") }}, "header line too long"},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, tc.server, tc.want) })
	}
}

const (
	late     = "the server did not finish in time: context deadline exceeded"
	zeroHash = "0000000000000000000000000000000000000000"
	oneHash  = "1111111111111111111111111111111111111111"
	chunked  = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-result\r\nTransfer-Encoding: chunked\r\n\r\n5;"
)

var sidebandRefs = line(oneHash+" HEAD"+capabilities+" side-band-64k\n") + "0000"

// backwards encodes the argument "distance" in the format of a Git pack. This argument is the distance in bytes from a
// delta to its base.
func backwards(distance int) []byte {
	encoded := []byte{byte(distance & 0x7f)}
	for distance >>= 7; distance > 0; distance >>= 7 {
		distance--
		encoded = append([]byte{0x80 | byte(distance&0x7f)}, encoded...)
	}
	return encoded
}

func repeatAfter(w io.Writer, start, text string) {
	_, _ = io.WriteString(w, start) // if this fails, repeat fails too
	repeat(w, strings.Repeat(text, 100))
}

// emptyBlocks contains the first bytes of a Git pack with one object. The first Deflate block of the object comes
// directly after these bytes. The second constant, emptyBlock, is a Deflate block without data. The fake server sends
// the first bytes of the pack once, and then sends the Deflate block without data again and again. The pack therefore
// grows without end, but the object stays empty.
const emptyBlocks = "PACK\x00\x00\x00\x02\x00\x00\x00\x01\x3f\x78\x9c"
const emptyBlock = "\x00\x00\x00\xff\xff"

func endlessRefs(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	_, _ = io.WriteString(w, line(oneHash+" HEAD"+capabilities+"\n"))
	repeat(w, line(oneHash+" refs/heads/main\n"))
}

func TestA17LyingServer(t *testing.T) {
	empty := plumbing.ComputeHash(plumbing.TreeObject, nil)
	missing := plumbing.NewHash(oneHash)
	noTree, noFile, noFolder, wrongKind := pack{}, pack{}, pack{}, pack{}
	noTreeHead := noTree.addCommit(empty)
	noFileHead := noFile.addCommit(noFile.add(plumbing.TreeObject, treeEntry("100644", "a.yaml", missing)))
	noFolderHead := noFolder.addCommit(noFolder.add(plumbing.TreeObject, treeEntry("40000", "a", missing)))
	wrongKindHead := wrongKind.addCommit(wrongKind.add(plumbing.TreeObject, treeEntry("40000", "a", wrongKind.add(plumbing.BlobObject, "file"))))
	other := pack{}
	other.addCommit(other.add(plumbing.TreeObject, ""))
	unknown, noBase, lateBase, corrupt := pack{}, pack{}, pack{}, pack{}
	unknown.add(5, "x")
	noBase.header(plumbing.REFDeltaObject, 4)
	noBase.body.WriteString(strings.Repeat("\x11", 20))
	noBase.deflate([]byte("\x01\x01\x01x"))
	lateBase.header(plumbing.OFSDeltaObject, 4)
	lateBase.body.WriteByte(100)
	corrupt.add(plumbing.BlobObject, "x")
	for name, tc := range map[string]struct {
		server liar
		want   string
	}{
		"another commit":          {liar{head: missing, pack: other.bytes()}, "the server did not send the Git object of type commit with the hash " + oneHash},
		"no root folder":          {liar{head: noTreeHead, pack: noTree.bytes()}, "the server did not send the Git object of type tree with the hash " + empty.String()},
		"no file":                 {liar{head: noFileHead, pack: noFile.bytes()}, "the server did not send the Git object of type blob with the hash " + oneHash},
		"no folder":               {liar{head: noFolderHead, pack: noFolder.bytes()}, "the server did not send the Git object of type tree with the hash " + oneHash},
		"a file as folder":        {liar{head: wrongKindHead, pack: wrongKind.bytes()}, "is a blob, want a tree"},
		"a tag for another":       {liar{refs: line(other.addCommit(missing).String()+" HEAD"+capabilities+"\n") + "0000", pack: (&pack{}).bytes()}, "the server did not send the Git object of type commit"},
		"an unknown type":         {liar{pack: unknown.bytes()}, "an object of the unknown type 5"},
		"a delta without base":    {liar{pack: noBase.bytes()}, "a delta without its base"},
		"a delta before its base": {liar{pack: lateBase.bytes()}, "invalid OFS delta offset"},
		"a wrong checksum":        {liar{pack: append(corrupt.start(), strings.Repeat("x", 20)...)}, "checksum mismatch"},
		"no checksum":             {liar{pack: corrupt.start()}, "the server closed the connection in the middle of its answer"},
		"half a pack":             {liar{pack: corrupt.bytes()[:15]}, "the server closed the connection in the middle of its answer"},
		"an empty answer":         {liar{pack: nil}, "empty packfile"},
		"garbage":                 {liar{pack: []byte(noise(5000))}, "malformed pack file signature"},
		"garbage as HTTP":         {liar{answer: func(conn net.Conn, _ string) { _, _ = io.WriteString(conn, noise(5000)) }}, "malformed HTTP"},
		"garbage as list":         {liar{refs: noise(5000)}, "invalid pkt-len found"},
		"a wrong hash":            {liar{refs: line(strings.Repeat("x", 40)+" HEAD"+capabilities+"\n") + "0000"}, "invalid hash text"},
		"a list without end mark": {liar{refs: line(oneHash + " HEAD" + capabilities + "\n")}, "EOF"},
		"an error of the server":  {liar{refs: line("ERR out\x1b[2J of\r\n\u202e disk")}, "the server reports: out [2J of disk"},
		"an error in the pack":    {liar{refs: sidebandRefs, answer: func(conn net.Conn, start string) { _, _ = io.WriteString(conn, start+line("\x03out of disk")) }}, "out of disk"},
		"status 500":              {liar{list: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }}, "the server answered with status 500"},
		"a reset connection":      {liar{answer: reset}, "read: connection reset by peer"},
		"silence":                 {liar{answer: func(conn net.Conn, _ string) { waitForClient(conn) }}, "timeout awaiting response headers"},
		"silence in the middle":   {liar{answer: silenceInTheMiddle}, late},
		"a slow pack":             {liar{answer: drip}, late},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, tc.server, tc.want) })
	}
}

func reset(conn net.Conn, start string) {
	_, _ = io.WriteString(conn, start+"PACK\x00")
	_ = conn.(*net.TCPConn).SetLinger(0) // closing now sends a reset
}

func silenceInTheMiddle(conn net.Conn, start string) {
	_, _ = io.WriteString(conn, start+"PACK\x00")
	waitForClient(conn)
}

func drip(conn net.Conn, start string) {
	_, _ = io.WriteString(conn, start+emptyBlocks)
	for {
		if _, err := io.WriteString(conn, emptyBlock); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestCancel: if the context of a fetch ends, the fetch must end soon, and its error must wrap the error of the
// context.
func TestCancel(t *testing.T) {
	url := liar{answer: silenceInTheMiddle}.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := newFetcher(t, Limits{}, url).Fetch(ctx, Request{URL: url})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
}

// TestA17FoldersInFolders checks that a fetch with the limits "small" can read a commit whose 22 Git objects form 10^20
// paths.
func TestA17FoldersInFolders(t *testing.T) {
	p := pack{}
	hash := p.add(plumbing.BlobObject, "a: 1\n")
	mode := "100644"
	for range 20 {
		var entries strings.Builder
		for i := range 10 {
			entries.WriteString(treeEntry(mode, fmt.Sprint(i), hash))
		}
		hash, mode = p.add(plumbing.TreeObject, entries.String()), "40000"
	}
	url := liar{head: p.addCommit(hash), pack: p.bytes()}.start(t)
	got, err := newFetcher(t, small, url).Fetch(t.Context(), Request{URL: url})
	check(t, err)
	if text, err := fs.ReadFile(got.Files, strings.Repeat("7/", 19)+"7"); err != nil || string(text) != "a: 1\n" {
		t.Errorf("got %q, error %v", text, err)
	}
}
