package main

import (
	"bytes"
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

// scaffold is what a new document is made from.
type scaffold struct {
	Name      string
	OpenShift bool
	Trainer   string
	Kustomize bool   // whether kustomize makes the objects, by trainyard-fn
	Document  string // the file's name in its folder
	Catalogue string
}

func newInit(s streams) *cobra.Command {
	var document scaffold
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Start a platform document",
		Long: `Start a platform document: one runtime, two environments, and comments that say what else there is.
FILE is platform.yaml by default. A file that is there already is kept (exit code 6).

With --kustomize there is a kustomization.yaml beside it, which has kustomize make the objects, by the
function trainyard-fn; "trainyard doctor" says whether it can here.`,
		Example: `  # A document for OpenShift AI
  trainyard init --name acme --openshift --trainer 2.1

  # A folder that kustomize builds, with nothing generated in it
  trainyard init --kustomize clusters/acme/platform.yaml

  # Somewhere else
  trainyard init clusters/acme.yaml`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			file := "platform.yaml"
			if len(args) == 1 {
				file = args[0]
			}
			return document.write(cmd.Context(), s, file)
		},
	}
	cmd.Flags().StringVar(&document.Name, "name", "", "name of the platform; by default that of the folder")
	cmd.Flags().BoolVar(&document.OpenShift, "openshift", false, "the cluster is OpenShift")
	cmd.Flags().BoolVar(&document.Kustomize, "kustomize", false, "write a kustomization.yaml, too, by which kustomize makes the objects")
	cmd.Flags().StringVar(&document.Trainer, "trainer", "2.3", "minor version of Kubeflow Trainer in the cluster: 2.1, 2.2, 2.3")
	_ = cmd.RegisterFlagCompletionFunc("trainer", cobra.FixedCompletions([]string{"2.1", "2.2", "2.3"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return &usageError{fmt.Errorf("%s takes one file at most, got %d", cmd.CommandPath(), len(args))}
	}
	return nil
}

// write checks the document that comes of the flags before it touches the disk.
func (d scaffold) write(ctx context.Context, s streams, file string) error {
	if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" {
		return &usageError{fmt.Errorf("%s: a new document is YAML: want a file that ends with .yaml", file)}
	}
	if d.Name == "" {
		d.Name = nameOfFolder(file)
	}
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
	if _, err := pipeline.Generate(ctx, generator.Request{Layers: []generator.Input{{Name: file, Text: files[0].text}}}); err != nil {
		return d.blame(err)
	}
	if err := createAll(files); err != nil {
		return err
	}
	fmt.Fprintf(s.err, "%s", d.next(file))
	return nil
}

// newFile is one that init writes.
type newFile struct {
	name string
	text []byte
}

// files are the document and what belongs beside it.
func (d scaffold) files(document string) ([]newFile, error) {
	texts := map[string]string{document: scaffoldText}
	order := []string{document}
	if d.Kustomize {
		beside := filepath.Join(filepath.Dir(document), "kustomization.yaml")
		if texts[beside] != "" {
			return nil, &usageError{fmt.Errorf("%s: want another name for the document: this one is kustomize's own", document)}
		}
		texts[beside], order = kustomizationText, append(order, beside)
	}
	var files []newFile
	for _, name := range order {
		var text bytes.Buffer
		if err := template.Must(template.New("").Parse(texts[name])).Execute(&text, d); err != nil {
			return nil, fmt.Errorf("filling in the scaffold: %w", err)
		}
		files = append(files, newFile{name, text.Bytes()})
	}
	return files, nil
}

// createAll writes new files: all of them, or none where one is there already.
func createAll(files []newFile) error {
	for _, f := range files {
		if _, err := os.Lstat(f.name); err == nil {
			return &existsError{f.name}
		}
	}
	for _, f := range files {
		if err := create(f.name, f.text); err != nil {
			return err
		}
	}
	return nil
}

// next says what to do with the files.
func (d scaffold) next(file string) string {
	if !d.Kustomize {
		return fmt.Sprintf(`%[1]s is a platform document to start from. Next:
  trainyard vet -f %[1]s
  trainyard generate -f %[1]s --format kustomize -o deploy
  kubectl apply --server-side -k deploy/dev
`, file)
	}
	return fmt.Sprintf(`%[1]s is a platform document to start from, and kustomization.yaml beside it has kustomize make its objects. Next:
  trainyard vet -f %[1]s
  trainyard doctor
  kustomize build --enable-alpha-plugins --enable-exec %[2]s | kubectl apply --server-side -f -
`, file, filepath.Dir(file))
}

// blame turns problems of the document into problems of the flags that made it so.
func (d scaffold) blame(err error) error {
	var problems problem.List
	if !errors.As(err, &problems) {
		return err
	}
	flags := map[string]string{"metadata.name": "--name", "spec.target.trainer": "--trainer"}
	flag, ok := flags[problems[0].Path]
	if !ok {
		return err
	}
	return &usageError{fmt.Errorf("%s: %s", flag, problems[0].Message)}
}

// existsError is a file that is there already.
type existsError struct{ file string }

// Error says what to do.
func (e *existsError) Error() string {
	return e.file + " is there already, and stays as it is: name another file"
}

// create writes a new file, and never an existing one.
func create(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &existsError{file}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// nameOfFolder makes a platform's name of the folder that holds its file.
func nameOfFolder(file string) string {
	folder := "."
	if absolute, err := filepath.Abs(file); err == nil {
		folder = filepath.Base(filepath.Dir(absolute))
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(folder)), "-0123456789")
	if name == "" || len(name) > 63 {
		return "platform"
	}
	return name
}
