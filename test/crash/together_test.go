//go:build linux

package crash

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const writesPerProcess = 200

// TestConcurrentWriters lets two processes write the same folder at the same time. Meanwhile, the test reads the folder
// again and again, and must find one of the two trees that the processes write. If the processes cannot exchange
// folders atomically, the folder may also be missing for a moment.
func TestConcurrentWriters(t *testing.T) {
	skipUnlessRequested(t)
	for name, renaming := range swapMethods {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			order{Dir: dir, Files: manyFiles, Trees: []int{0}}.mustRun(t)
			done := make(chan string, 2)
			for _, trees := range [][]int{{0, 1}, {1, 0}} {
				o := order{Dir: dir, Files: manyFiles, Trees: trees, Rounds: writesPerProcess / 2, Pause: 5 * time.Millisecond, Renaming: renaming}
				cmd := o.childCommand(t)
				go func() {
					out, err := cmd.CombinedOutput()
					if err != nil {
						out = append(out, err.Error()...)
					}
					done <- string(out)
				}()
			}
			reads, running := 0, 2
			for running > 0 {
				select {
				case out := <-done:
					if out = strings.ReplaceAll(out, "note: waiting for another run that writes in "+filepath.Dir(dir)+"\n", ""); out != "" {
						t.Error(out)
					}
					running--
				default:
					if readOnce(t, dir, renaming) {
						reads++
					}
				}
			}
			expectTree(t, dir, manyFiles, 0, 1)
			t.Logf("%d writes of each process, %d reads", writesPerProcess, reads)
		})
	}
}

// readOnce reads a folder to which the processes of TestConcurrentWriters write tree 0 and tree 1, and checks that
// the folder contains one of these trees. If the folder was replaced during the read, readOnce does not check its
// content, and returns false. If the folder is missing, readOnce also returns false. A missing folder is an error
// only if the processes exchange folders atomically.
func readOnce(t *testing.T, dir string, renaming bool) bool {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		if !renaming {
			t.Errorf("there is no folder: %v", err)
		}
		return false
	}
	defer func() { _ = root.Close() }()
	opened, err := root.Stat(".")
	if err != nil {
		t.Error(err)
		return false
	}
	held, err := readContents(root.FS())
	if now, gone := os.Stat(dir); gone != nil || !os.SameFile(now, opened) {
		return false
	}
	if err != nil {
		t.Error(err)
	}
	if a, b := findDifference(treeContent(0, manyFiles), held), findDifference(treeContent(1, manyFiles), held); a != "" && b != "" {
		t.Errorf("the folder holds %d files, which differ from one tree in %s, from the other in %s", len(held), a, b)
	}
	return true
}

func readContents(folder fs.FS) (map[string]string, error) {
	held := map[string]string{}
	err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(folder, path)
		held[path] = string(text)
		return err
	})
	return held, err
}
