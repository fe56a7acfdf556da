package controlplane

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/trainyard/trainyard/test/process"
)

// station is what one server gets before it starts: a way to start it, a folder, a log.
type station struct {
	start string
	dir   string
	log   *os.File
}

// prepare makes the folder and the log of the server that binary runs.
func (cp *ControlPlane) prepare(binary string) (station, error) {
	name := filepath.Base(binary)
	s := station{dir: filepath.Join(cp.dir, name), start: filepath.Join(cp.dir, name+".sh")}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return s, fmt.Errorf("preparing %s: %w", name, err)
	}
	if err := os.WriteFile(s.start, []byte(process.Mortal(binary)), 0o700); err != nil {
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
