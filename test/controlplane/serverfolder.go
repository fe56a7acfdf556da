package controlplane

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/trainyard/trainyard/test/process"
)

// serverFolder describes the files of one server: a script that starts the server, a data folder and a log.
type serverFolder struct {
	script string
	dir    string
	log    *os.File
}

// prepare creates the folder and the log of a server.
func (cp *ControlPlane) prepare(binary string) (serverFolder, error) {
	name := filepath.Base(binary)
	s := serverFolder{dir: filepath.Join(cp.dir, name), script: filepath.Join(cp.dir, name+".sh")}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return s, fmt.Errorf("preparing %s: %w", name, err)
	}
	if err := os.WriteFile(s.script, []byte(process.WrapperScript(binary)), 0o700); err != nil {
		return s, fmt.Errorf("preparing %s: %w", name, err)
	}
	log, err := os.Create(filepath.Join(cp.dir, name+".log"))
	if err != nil {
		return s, fmt.Errorf("preparing %s: %w", name, err)
	}
	s.log = log
	cp.logs = append(cp.logs, log.Name())
	return s, nil
}
