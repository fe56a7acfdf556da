package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/store"
)

// keepVariable names the folder that keeps results; "off" keeps none.
const keepVariable = "TRAINYARD_CACHE"

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
	switch given := os.Getenv(keepVariable); given {
	case "off":
		return "", false
	case "":
		caches, err := os.UserCacheDir()
		return filepath.Join(caches, "trainyard"), err == nil
	default:
		return given, true
	}
}

// identity differs for each build of this program, even from a working copy: to
// read the program itself would take longer than most of what it does.
func identity() (string, error) {
	file, err := os.Executable()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	v := currentVersion()
	return fmt.Sprintf("%s %s %s %d %d", v.Version, v.Commit, v.Go, info.Size(), info.ModTime().UnixNano()), nil
}
