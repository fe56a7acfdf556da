package lanes

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os/exec"
	"strings"

	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
)

// hasCode reports whether a file is a Go or CUE file. keepsCode can compare such files without their comments.
func hasCode(path string) bool {
	return strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".cue")
}

// keepsCode reports whether the code of Go and CUE files is the same in two commits. Comments may differ, because they
// do not change the compiled program or the generated objects. If a file is missing in one of the two commits,
// keepsCode returns false.
func (r Repository) keepsCode(ctx context.Context, before, after string, paths []string) (bool, error) {
	if len(paths) == 0 {
		return true, nil
	}
	var names strings.Builder
	for _, path := range paths {
		fmt.Fprintf(&names, "%s:%s\n%s:%s\n", before, path, after, path)
	}
	cmd := exec.CommandContext(ctx, "git", "-C", r.Root, "cat-file", "--batch")
	cmd.Stdin = strings.NewReader(names.String())
	out, err := cmd.Output()
	if err != nil {
		return false, fmt.Errorf("git cat-file: %w", err)
	}
	files := bufio.NewReader(bytes.NewReader(out))
	for _, path := range paths {
		code := goCode
		if strings.HasSuffix(path, ".cue") {
			code = cueCode
		}
		old, hasOld, err := readBlob(files)
		if err != nil {
			return false, err
		}
		current, hasCurrent, err := readBlob(files)
		if err != nil {
			return false, err
		}
		if !hasOld || !hasCurrent || code(old) != code(current) {
			return false, nil
		}
	}
	return true, nil
}

// readBlob reads the next file from the output of `git cat-file --batch`. The bool is false if the commit does not contain the file.
func readBlob(output *bufio.Reader) ([]byte, bool, error) {
	header, err := output.ReadString('\n')
	if err != nil {
		return nil, false, err
	}
	if strings.HasSuffix(header, " missing\n") {
		return nil, false, nil
	}
	var digest, kind string
	var size int
	if _, err := fmt.Sscan(header, &digest, &kind, &size); err != nil {
		return nil, false, fmt.Errorf("git cat-file printed %q: %w", header, err)
	}
	content := make([]byte, size+1) // a line break follows the content
	_, err = io.ReadFull(output, content)
	return content[:size], true, err
}

// cueCode returns a CUE file without its comments. A file with a syntax error is returned unchanged.
func cueCode(source []byte) string {
	file, err := parser.ParseFile("", source) // without the option ParseComments, the parser drops comments
	if err != nil {
		return string(source)
	}
	text, err := format.Node(file)
	if err != nil {
		return string(source)
	}
	return string(text)
}

// goCode returns the tokens of a Go file, including directives such as //go:embed, but without other comments. A
// file with an example test is returned unchanged, because the comment "Output:" of an example test is the expected
// result.
func goCode(source []byte) string {
	if bytes.Contains(source, []byte("// Output:")) {
		return string(source)
	}
	var (
		s     scanner.Scanner
		b     strings.Builder
		files = token.NewFileSet()
	)
	s.Init(files.AddFile("", files.Base(), len(source)), source, nil, scanner.ScanComments)
	for {
		_, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return b.String()
		case kind != token.COMMENT:
			fmt.Fprintf(&b, "%s %s\n", kind, literal)
		case strings.HasPrefix(literal, "//go:"):
			fmt.Fprintln(&b, literal)
		}
	}
}
