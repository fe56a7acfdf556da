package jobs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// maxLog bounds what is read of one container's log, in bytes.
const maxLog = 1 << 20

// Log is the end of what a container wrote, at most so many lines and at most 1 MiB.
func (j Jobs) Log(ctx context.Context, pod Pod, container string, lines int64) (string, error) {
	text, err := j.logs.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, TailLines: ptr.To(lines), LimitBytes: ptr.To[int64](maxLog),
	}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s in %s: %w", container, pod.Name, err)
	}
	return string(text), nil
}
