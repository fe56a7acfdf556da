package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/store"
)

// keepVariable names the folder that keeps results; "off" keeps none, and so does what people write instead.
const keepVariable = "TRAINYARD_CACHE"

var keepsNone = []string{"off", "no", "none", "false", "0"}

// keeping has a pipeline keep its results, if there is a place for them. Nobody
// hears if there is none: the command only takes a little longer.
func keeping(p *generator.Pipeline) *generator.Pipeline {
	folder, ok := keepFolder()
	if !ok {
		return p
	}
	program, err := identity()
	if err != nil {
		return p
	}
	kept, err := store.Open(folder)
	if err != nil {
		return p
	}
	return p.KeepIn(kept, program)
}

func keepFolder() (string, bool) {
	given := strings.TrimSpace(os.Getenv(keepVariable))
	if slices.Contains(keepsNone, strings.ToLower(given)) {
		return "", false
	}
	if given != "" {
		return given, true
	}
	caches, err := os.UserCacheDir()
	return filepath.Join(caches, "trainyard"), err == nil
}

// head is how much of a program is read to tell it from others, in bytes. The Go linker puts its ID of the build, which
// is a sum of all that went into it, into the first 32 KiB of a program's file.
const head = 64 << 10

// identity differs for each build of this program, even from a working copy, and where all files have the same time: to
// read the whole program would take longer than most of what it does.
func identity() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if _, err := io.CopyN(sum, file, head); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	v := currentVersion()
	return fmt.Sprintf("%s %s %s %d %d %x", v.Version, v.Commit, v.Go, info.Size(), info.ModTime().UnixNano(), sum.Sum(nil)), nil
}
