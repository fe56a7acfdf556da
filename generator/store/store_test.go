package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, folder string) *Dir {
	t.Helper()
	d, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestGetReturnsWhatWasPut(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "store")
	d := open(t, folder)
	if text, ok := d.Get("key"); ok {
		t.Errorf("an empty store has %q", text)
	}
	d.Put("key", []byte("text"))
	d.Put("other", nil)
	d.Put("key", []byte("newer"))
	for key, want := range map[string]string{"key": "newer", "other": ""} {
		if text, ok := open(t, folder).Get(key); !ok || string(text) != want {
			t.Errorf("Get(%q) = %q, %v, want %q", key, text, ok, want)
		}
	}
}

func TestGetReturnsNothingElse(t *testing.T) {
	damages := map[string]func(file string) error{
		"empty":           func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"cut":             func(file string) error { return os.Truncate(file, 40) },
		"too long":        func(file string) error { return os.Truncate(file, maxEntry+1) },
		"a folder":        func(file string) error { return os.Mkdir(strings.TrimSuffix(file, finished)+"x"+finished, 0o700) },
		"changed":         func(file string) error { return os.WriteFile(file, bytes.Repeat([]byte("x"), 100), 0o600) },
		"a symbolic link": func(file string) error { return os.Rename(file, file+"2") },
		"another's":       func(file string) error { return os.Rename(strings.TrimSuffix(file, finished)+"2"+finished, file) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "store")
			d := open(t, folder)
			d.Put("key", bytes.Repeat([]byte("text"), 20))
			d.Put("key2", []byte("of another"))
			if err := damage(filepath.Join(folder, "key"+finished)); err != nil {
				t.Fatal(err)
			}
			if name == "a symbolic link" {
				if err := os.Symlink("key"+finished+"2", filepath.Join(folder, "key"+finished)); err != nil {
					t.Fatal(err)
				}
			}
			key := "key"
			if name == "a folder" {
				key = "keyx"
			}
			if text, ok := d.Get(key); ok {
				t.Errorf("Get() = %q", text)
			}
		})
	}
}

func TestOpenRefusesWhatOthersCanWriteTo(t *testing.T) {
	folder := t.TempDir()
	for _, mode := range []os.FileMode{0o777, 0o770, 0o702} {
		if err := os.Chmod(folder, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(folder); err == nil {
			t.Errorf("a folder of mode %v was opened", mode)
		}
	}
}

func TestStoreForgetsWhatWasNotUsedForLongest(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	d := open(t, folder)
	for i := range maxEntries {
		key := fmt.Sprint("key", i)
		d.Put(key, []byte(key))
		old := time.Now().Add(time.Duration(i-1000) * time.Hour)
		if err := os.Chtimes(filepath.Join(folder, key+finished), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := d.Get("key0"); !ok { // which makes key1 the oldest
		t.Fatal("key0 is gone")
	}
	d.Put("new", nil)
	for key, want := range map[string]bool{"key0": true, "key1": false, "key2": true, "new": true} {
		if _, ok := d.Get(key); ok != want {
			t.Errorf("Get(%q) finds it: %v, want %v", key, ok, want)
		}
	}
}

func TestStoreForgetsWhatIsTooMuch(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "store"))
	d.most = 3 * (sha256.Size + 1000)
	for i := range 5 {
		key := fmt.Sprint("key", i)
		d.Put(key, make([]byte, 1000))
		old := time.Now().Add(time.Duration(i-1000) * time.Hour)
		if err := d.root.Chtimes(key+finished, old, old); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		info, err := d.root.Stat(fmt.Sprint("key", i) + finished)
		if kept := err == nil; kept != (i >= 2) {
			t.Errorf("key%d is kept: %v (%v)", i, kept, info)
		}
	}
}

func TestStoreForgetsNothingOfOthers(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "store")
	d := open(t, folder)
	for i := range maxEntries + 10 {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint("letter", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxEntries + 10 {
		d.Put(fmt.Sprint("key", i), nil)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if want := maxEntries + 10 + maxEntries; len(entries) != want {
		t.Errorf("the folder has %d files, want %d", len(entries), want)
	}
}

func TestStoreIsForManyAtATime(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "store")
	var g sync.WaitGroup
	for i := range 8 {
		g.Go(func() {
			d, err := Open(folder)
			if err != nil {
				t.Error(err)
				return
			}
			for range 50 {
				want := bytes.Repeat([]byte{byte('a' + i)}, 10000)
				d.Put("key", want)
				text, ok := d.Get("key")
				if !ok || len(text) != len(want) || !bytes.Equal(text, bytes.Repeat(text[:1], len(text))) {
					t.Errorf("Get() = %d bytes, %v", len(text), ok)
				}
			}
		})
	}
	g.Wait()
}
