package jobs

import (
	"context"
	"fmt"
	"strconv"
)

// maxLog is the maximum number of bytes to read from one container's log.
const maxLog = 1 << 20

// Log reads the last lines of a container's log, at most 1 MiB.
func (j Jobs) Log(ctx context.Context, pod Pod, container string, lines int64) (string, error) {
	return j.log(ctx, pod, container, lines, false)
}

// log reads the last lines of a container's log. The argument "previous" selects the log of the container that ran before
// the container was started again.
func (j Jobs) log(ctx context.Context, pod Pod, container string, lines int64, previous bool) (string, error) {
	text, err := j.core.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("log").
		Param("container", container).Param("tailLines", strconv.FormatInt(lines, 10)).Param("limitBytes", strconv.Itoa(maxLog)).
		Param("previous", strconv.FormatBool(previous)).
		DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s in %s: %w", container, pod.Name, err)
	}
	return string(text), nil
}
