package images

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source is a Python package that must be compiled, because the Python Package Index contains only its source code.
type source struct {
	name      string   // NAME==VERSION
	packages  []string // Debian packages needed to compile it
	variables string   // NAME=VALUE..., environment variables of the compilation
}

// horovodPackage is the package Horovod, compiled with MPI. The compilation leaves out the communication library Gloo,
// because Horovod could otherwise use Gloo instead of MPI. Horovod's setup.py needs the Debian package python3-cffi.
var horovodPackage = source{
	name: "horovod==0.28.1",
	packages: []string{
		"cmake", "g++", "libopenmpi-dev", "libtorch-dev", "make", "openmpi-bin", "pybind11-dev",
		"python3-cffi", "python3-dev", "python3-packaging", "python3-setuptools", "python3-torch", "python3-wheel",
	},
	variables: "HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_GLOO=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1",
}

// compileWheel compiles the package in a temporary root file system and returns the path of the wheel. If the folder
// "dir" already contains the wheel, nothing is compiled.
func (s source) compileWheel(ctx context.Context, dir string) (string, error) {
	sum := sha256.Sum256([]byte(strings.Join(append(s.compileHooks("", ""), s.packages...), " ")))
	wheel := filepath.Join(dir, fmt.Sprintf("wheel-%x.whl", sum[:4]))
	if _, err := os.Stat(wheel); err == nil {
		return wheel, nil
	}
	work, err := os.MkdirTemp(dir, "compiling-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	project, _, _ := strings.Cut(s.name, "==")
	if err := pip(ctx, "download", "--no-deps", "--no-binary="+project, "--dest="+work, s.name); err != nil {
		return "", err
	}
	sources, err := singleMatch(filepath.Join(work, "*.tar.gz"))
	if err != nil {
		return "", err
	}
	if err := writeDebian(ctx, os.DevNull, s.packages, s.compileHooks(sources, work)...); err != nil {
		return "", fmt.Errorf("compiling %s: %w", s.name, err)
	}
	built, err := singleMatch(filepath.Join(work, "wheel", "*.whl"))
	if err != nil {
		return "", err
	}
	return wheel, os.Rename(built, wheel)
}

// compileHooks returns hooks that mmdebstrap runs after it has installed all Debian packages. The hooks compile
// the Python package. The compilation needs no access to the network.
func (s source) compileHooks(sources, out string) []string {
	build := "mkdir /source /wheel; tar -x -f /source.tar.gz -C /source --strip-components=1; cd /source; " +
		"LDFLAGS=-s MAKEFLAGS=-j$(nproc) " + s.variables + " python3 setup.py --quiet bdist_wheel --dist-dir /wheel"
	return []string{
		"--customize-hook=upload " + sources + " /source.tar.gz",
		`--customize-hook=chroot "$1" sh -euc '` + build + "'",
		"--customize-hook=copy-out /wheel " + out,
	}
}

// singleMatch returns the only file that matches a pattern. singleMatch fails if no file or more than one file
// matches the pattern.
func singleMatch(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("looking for one file that matches %s: found %q", filepath.Base(pattern), found)
	}
	return found[0], nil
}

func pip(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "python3", append([]string{"-m", "pip", "--quiet"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running pip: %w: %s", err, out)
	}
	return nil
}
