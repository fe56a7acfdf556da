//go:build linux

package jail

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"golang.org/x/sys/unix"
)

// patience is how long a container may run once somebody waits for it.
const patience = 4 * time.Minute

// A container that could not be set up ends with this code and complains in its log.
const (
	complaint     = "jail: "
	complaintCode = 125
)

// Result is what is left of a container that ended.
type Result struct {
	Code    int
	Log     string        // what it printed, to either stream
	Message string        // its termination message
	Took    time.Duration // from the start of the container
}

// Process is a container that was started.
type Process struct {
	t       testing.TB
	name    string
	cmd     *exec.Cmd
	log     log
	message string
	started time.Time
	wait    func() Result
}

// Run runs a container to its end, as the kubelet does with an init container.
func (p *Pod) Run(container corev1.Container) Result {
	p.t.Helper()
	return p.Start(container).Wait()
}

// Start starts a container, which is killed at the end of the test. More than one of a
// pod's containers may run at a time.
func (p *Pod) Start(container corev1.Container) *Process {
	p.t.Helper()
	dir, err := os.MkdirTemp(p.dir, container.Name+"-")
	if err != nil {
		p.t.Fatalf("making a folder for container %s: %v", container.Name, err)
	}
	process := &Process{t: p.t, name: container.Name, message: filepath.Join(dir, "message")}
	process.wait = sync.OnceValue(process.end)
	p.write(process.message, nil)
	plan, err := json.Marshal(p.plan(container, dir))
	if err != nil {
		p.t.Fatalf("planning container %s: %v", container.Name, err)
	}
	planned := filepath.Join(dir, "plan")
	p.write(planned, plan)
	process.start(planned)
	p.t.Cleanup(process.Kill)
	return process
}

// start runs this program as the container.
func (p *Process) start(plan string) {
	p.t.Helper()
	p.cmd = exec.Command("/proc/self/exe", plan)
	p.cmd.Env = []string{stageVariable + "=" + stageContainer}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log // A pipe, as under a kubelet.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWPID,
		Setsid:     true, // There is no terminal that ssh could ask for a password.
	}
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatalf("starting container %s: %v", p.name, err)
	}
}

// Wait waits until the container ends. It may be called again.
func (p *Process) Wait() Result {
	p.t.Helper()
	alarm := time.AfterFunc(patience, p.kill)
	result := p.wait()
	if !alarm.Stop() {
		p.t.Fatalf("container %s did not end within %s:\n%s", p.name, patience, result.Log)
	}
	if result.Code == complaintCode && strings.HasPrefix(result.Log, complaint) {
		p.t.Fatalf("container %s did not start: %s", p.name, result.Log)
	}
	return result
}

// end waits for the process and collects what it leaves behind.
func (p *Process) end() Result {
	_ = p.cmd.Wait() // The state says more than the error.
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	message, _ := os.ReadFile(p.message)
	return Result{Code: code, Log: p.Log(), Message: string(message), Took: time.Since(p.started)}
}

// Signal sends a signal to process 1 of the container, which the kernel drops, as in any
// container, unless the process handles it.
func (p *Process) Signal(signal os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatalf("signalling container %s: %v", p.name, err)
	}
}

// Kill ends the container with all its processes.
func (p *Process) Kill() {
	p.kill()
	p.wait()
}

func (p *Process) kill() {
	_ = p.cmd.Process.Kill() // Fails when it has ended already.
}

// Log is what the container printed so far.
func (p *Process) Log() string {
	return p.log.String()
}

// log is a buffer that can be read while it is written.
type log struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

// Write appends to the log.
func (l *log) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.Write(text)
}

// String is what the log holds so far.
func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.String()
}

// write writes a file that a container may write, too.
func (p *Pod) write(path string, content []byte) {
	p.t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		p.t.Fatalf("preparing a container of pod %s: %v", p.hostname, err)
	}
}
