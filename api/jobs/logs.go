package jobs

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

// maxLog is the maximum number of bytes to read from one container's log.
const maxLog = 1 << 20

// Log reads the last lines of a container's log. If the requested lines have more than 1 MiB in total, the kubelet
// sends only the first MiB, and the end of the log is missing. Log then requests fewer lines, so that it gets the end
// of the log.
func (j Jobs) Log(ctx context.Context, pod Pod, container string, lines int64) (string, error) {
	return endOfLog(ctx, j, candidate{pod: pod, container: container}, lines)
}

// EndOfLog reads the last lines of a container's log. The argument "lines" is the number of lines to read. If these
// lines have more than 1 MiB in total, the kubelet sends only the first MiB. The end of the log is then missing in the
// result. If the argument "previous" is true, EndOfLog reads the log of the container's previous run, which is the run
// before the latest restart.
func (j Jobs) EndOfLog(ctx context.Context, pod Pod, container string, lines int64, previous bool) (string, error) {
	text, err := j.core.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("log").
		Param("container", container).Param("tailLines", strconv.FormatInt(lines, 10)).Param("limitBytes", strconv.Itoa(maxLog)).
		Param("previous", strconv.FormatBool(previous)).
		DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of container %s in pod %s: %w", container, pod.Name, err)
	}
	return string(text), nil
}

// maxBeginning is the maximum number of bytes to read from the beginning of a log.
const maxBeginning = 64 << 10

// BeginningOfLog reads the beginning of a container's log, at most 64 KiB. Each line of the returned text
// begins with a timestamp.
func (j Jobs) BeginningOfLog(ctx context.Context, pod types.NamespacedName, container string) (string, error) {
	text, err := j.core.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("log").
		Param("container", container).Param("limitBytes", strconv.Itoa(maxBeginning)).Param("timestamps", "true").
		DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of container %s in pod %s: %w", container, pod, err)
	}
	return string(text), nil
}
