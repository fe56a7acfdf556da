package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
)

//go:embed scaffold/platform.yaml
var scaffoldText string

//go:embed scaffold/kustomization.yaml
var kustomizationText string

type scaffold struct {
	Name      string
	OpenShift bool
	Trainer   string
	Kustomize bool   // whether kustomize generates the objects with trainyard-fn
	Document  string // the file name of the document, without a folder
	Catalogue string // the names of the built-in runtimes
}

func newInit(s streams) *cobra.Command {
	var document scaffold
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Create a platform document",
		Long: `Create a platform document with one runtime, two environments, and comments about other fields.
FILE is platform.yaml by default. The command never overwrites a file (exit code 6).

With --kustomize, it also creates a kustomization.yaml in the same folder. kustomize then generates the
objects with the function trainyard-fn; "trainyard doctor" checks whether it can on this machine.`,
		Example: `  # Create platform.yaml for OpenShift AI
  trainyard init --name acme --openshift

  # Create a folder that kustomize builds, without generated files
  trainyard init --kustomize clusters/acme/platform.yaml

  # Create a document with another file name
  trainyard init clusters/acme.yaml`,
		Args: wantArg(false, "at most one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return document.write(cmd.Context(), s, cmp.Or(strings.Join(args, ""), "platform.yaml"))
		},
	}
	cmd.Flags().StringVar(&document.Name, "name", "", "name of the platform (default the name of the folder)")
	cmd.Flags().BoolVar(&document.OpenShift, "openshift", false, "the cluster is OpenShift")
	cmd.Flags().BoolVar(&document.Kustomize, "kustomize", false, "also create a kustomization.yaml, so that kustomize generates the objects")
	namedChoices(trainerVersions...).addFlag(cmd, &document.Trainer, "trainer", "", "", "minor version of Kubeflow Trainer in the cluster (default 2.3, or 2.1 with --openshift)")
	return cmd
}

// write creates the platform document. If --kustomize is set, the method also creates a kustomization. Before the
// method creates any file, it checks that the document is valid.
func (d scaffold) write(ctx context.Context, s streams, file string) error {
	if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" {
		return usageErrorf("file %s: want a YAML file with the extension .yaml", file)
	}
	d.Name = cmp.Or(d.Name, nameOfFolder(file))
	if d.OpenShift { // OpenShift AI 3.5 and earlier contain Trainer 2.1
		d.Trainer = cmp.Or(d.Trainer, "2.1")
	}
	d.Trainer = cmp.Or(d.Trainer, "2.3")
	pipeline := newPipeline()
	names, err := pipeline.Catalogue()
	if err != nil {
		return err
	}
	d.Catalogue, d.Document = strings.Join(names, ", "), filepath.Base(file)
	files, err := d.files(file)
	if err != nil {
		return err
	}
	var problems problem.List
	_, err = pipeline.Generate(ctx, generator.Request{Layers: []generator.Input{{Name: file, Text: files[0].text}}})
	if errors.As(err, &problems) && problems[0].Path == "metadata.name" {
		return usageErrorf("--name: %s", problems[0].Message)
	}
	if err != nil {
		return err
	}
	if err := createAll(files); err != nil {
		return err
	}
	fmt.Fprintf(s.err, "%s", d.nextSteps(file))
	return nil
}

type newFile struct {
	name string
	text []byte
}

func (d scaffold) files(document string) ([]newFile, error) {
	files := []newFile{{document, []byte(scaffoldText)}}
	if d.Kustomize {
		files = append(files, newFile{filepath.Join(filepath.Dir(document), "kustomization.yaml"), []byte(kustomizationText)})
		if d.Document == "kustomization.yaml" {
			return nil, usageErrorf("file %s: want another name for the document, because kustomize uses this name", document)
		}
	}
	for i, f := range files {
		var text bytes.Buffer
		if err := template.Must(template.New("").Parse(string(f.text))).Execute(&text, d); err != nil {
			return nil, fmt.Errorf("filling in the template of %s: %w", f.name, err)
		}
		files[i].text = text.Bytes()
	}
	return files, nil
}

func (d scaffold) nextSteps(file string) string {
	if !d.Kustomize {
		return fmt.Sprintf(`Created %[1]s. Edit it, and then:
  trainyard vet -f %[1]s
  trainyard generate -f %[1]s --format kustomize -o deploy
  kubectl apply --server-side -k deploy/dev
`, file)
	}
	return fmt.Sprintf(`Created %[1]s and a kustomization.yaml that generates its objects. Edit it, and then:
  trainyard vet -f %[1]s
  trainyard doctor
  kustomize build --enable-alpha-plugins --enable-exec %[2]s | kubectl apply --server-side -f -
`, file, filepath.Dir(file))
}

// createAll creates new files, or no file at all if any of the files already exists.
func createAll(files []newFile) error {
	for _, f := range files {
		if _, err := os.Lstat(f.name); err == nil {
			return fileExists(f.name)
		}
	}
	for _, f := range files {
		if err := create(f); err != nil {
			return err
		}
	}
	return nil
}

func create(file newFile) error {
	if err := os.MkdirAll(filepath.Dir(file.name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fileExists(file.name)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(file.text)
	return errors.Join(err, f.Close())
}

func fileExists(name string) error {
	return exitErrorf(exitRefused, "%s exists and is not overwritten: name another file", name)
}

func nameOfFolder(file string) string {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return "platform"
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(filepath.Base(filepath.Dir(absolute)))), "-0123456789")
	if name == "" || len(name) > 63 {
		return "platform"
	}
	return name
}
