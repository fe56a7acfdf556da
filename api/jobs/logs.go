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
	text, err := j.core.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("log").
		Param("container", container).Param("tailLines", strconv.FormatInt(lines, 10)).Param("limitBytes", strconv.Itoa(maxLog)).
		DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s in %s: %w", container, pod.Name, err)
	}
	return string(text), nil
}
