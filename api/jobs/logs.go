package jobs

import (
	"context"
	"fmt"
	"strconv"
)

// maxLog bounds what is read of one container's log, in bytes.
const maxLog = 1 << 20

// Log is the end of what a container wrote, at most so many lines and at most 1 MiB.
func (j Jobs) Log(ctx context.Context, pod Pod, container string, lines int64) (string, error) {
	text, err := j.core.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("log").
		Param("container", container).Param("tailLines", strconv.FormatInt(lines, 10)).Param("limitBytes", strconv.Itoa(maxLog)).
		DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s in %s: %w", container, pod.Name, err)
	}
	return string(text), nil
}
