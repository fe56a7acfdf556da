//go:build linux

package podrunner

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

// waitTimeout is the maximum time for which Wait waits for a container.
const waitTimeout = 4 * time.Minute

// setupPrefix and setupCode mark a container whose setup failed: its log begins with setupPrefix, and its exit code is
// setupCode.
const (
	setupPrefix = "podrunner: "
	setupCode   = 125
)

// Result describes a container that ended.
type Result struct {
	Code    int
	Log     string        // output and error output
	Message string        // termination message
	Took    time.Duration // time from start to end
}

// Process represents a container that the method Pod.Start has started. The package podrunner uses no container
// runtime. Instead, the package creates each container from a new process of the test binary.
type Process struct {
	t       testing.TB
	name    string
	cmd     *exec.Cmd
	log     logBuffer
	message string
	started time.Time
	wait    func() Result
}

// Run starts a container and waits until it ends, as the kubelet does with an init container.
func (p *Pod) Run(container corev1.Container) Result {
	p.t.Helper()
	return p.Start(container).Wait()
}

// Start starts a container, which is killed when the test ends. Several containers of a pod can run at the same
// time.
func (p *Pod) Start(container corev1.Container) *Process {
	p.t.Helper()
	dir, err := os.MkdirTemp(p.dir, container.Name+"-")
	if err != nil {
		p.t.Fatalf("creating a folder for container %s: %v", container.Name, err)
	}
	process := &Process{t: p.t, name: container.Name, message: filepath.Join(dir, "message")}
	process.wait = sync.OnceValue(process.waitForEnd)
	p.write(process.message, nil)
	plan, err := json.Marshal(p.newPlan(container, dir))
	if err != nil {
		p.t.Fatalf("planning container %s: %v", container.Name, err)
	}
	planPath := filepath.Join(dir, "plan")
	p.write(planPath, plan)
	process.start(planPath)
	p.t.Cleanup(process.Kill)
	return process
}

// start(plan) starts a new process of this program, in new Linux namespaces. The argument "plan" is the path of the
// file that describes the container. The new process reads this file, and sets up the container's root file system.
// Then the new process executes the container's command.
func (p *Process) start(plan string) {
	p.t.Helper()
	p.cmd = exec.Command("/proc/self/exe", plan)
	p.cmd.Env = []string{stageVariable + "=" + stageContainer}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log // The container writes to pipes, as under a kubelet.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWPID,
		Setsid:     true, // A new session has no terminal, so ssh cannot ask for a password.
	}
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatalf("starting container %s: %v", p.name, err)
	}
}

// Wait waits until the container ends, and returns its result. If Wait is called again, it returns the same result.
func (p *Process) Wait() Result {
	p.t.Helper()
	alarm := time.AfterFunc(waitTimeout, p.kill)
	result := p.wait()
	if !alarm.Stop() {
		p.t.Fatalf("container %s did not end within %s:\n%s", p.name, waitTimeout, result.Log)
	}
	if result.Code == setupCode && strings.HasPrefix(result.Log, setupPrefix) {
		p.t.Fatalf("container %s did not start: %s", p.name, result.Log)
	}
	return result
}

// waitForEnd waits for the process and collects its result.
func (p *Process) waitForEnd() Result {
	_ = p.cmd.Wait() // The error is ignored because ProcessState has more information.
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	message, _ := os.ReadFile(p.message)
	return Result{Code: code, Log: p.Log(), Message: string(message), Took: time.Since(p.started)}
}

// Signal sends a signal to process 1 of the container. As in any container, the kernel ignores a signal for which
// process 1 has no handler.
func (p *Process) Signal(signal os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatalf("signalling container %s: %v", p.name, err)
	}
}

// Kill kills all processes of the container.
func (p *Process) Kill() {
	p.kill()
	p.wait()
}

func (p *Process) kill() {
	_ = p.cmd.Process.Kill() // An error means that the process has already ended.
}

// Log returns the output of the container so far.
func (p *Process) Log() string {
	return p.log.String()
}

// logBuffer is a buffer that can be read while it is written.
type logBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

// Write appends to the log.
func (l *logBuffer) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.Write(text)
}

// String returns the content of the log so far.
func (l *logBuffer) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.String()
}

// write writes a file. Containers can read and change the file, because they run
// as the owner of the file.
func (p *Pod) write(path string, content []byte) {
	p.t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		p.t.Fatalf("preparing a container of pod %s: %v", p.hostname, err)
	}
}
