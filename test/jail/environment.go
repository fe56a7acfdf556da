//go:build linux

package jail

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// environment is what a container's processes get: from the container runtime, then from
// the spec, where a later variable may refer to an earlier one.
func environment(hostname string, spec []corev1.EnvVar) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: "PATH", Value: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		{Name: "HOSTNAME", Value: hostname},
		{Name: "HOME", Value: "/"},
	}
	for _, variable := range spec {
		value := expand(variable.Value, env)
		if i := indexOf(env, variable.Name); i >= 0 {
			env[i].Value = value
			continue
		}
		env = append(env, corev1.EnvVar{Name: variable.Name, Value: value})
	}
	return env
}

// expandAll expands each word of a command.
func expandAll(words []string, env []corev1.EnvVar) []string {
	expanded := make([]string, len(words))
	for i, word := range words {
		expanded[i] = expand(word, env)
	}
	return expanded
}

// expand replaces $(NAME) where the variable exists, and $$ by $, as Kubernetes does before
// any shell sees the text.
func expand(text string, env []corev1.EnvVar) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		switch i := indexOf(env, name); {
		case strings.HasPrefix(after, "$"):
			out.WriteString("$")
			text = after[1:]
		case strings.HasPrefix(after, "(") && closed && i >= 0:
			out.WriteString(env[i].Value)
			text = rest
		case strings.HasPrefix(after, "(") && closed:
			out.WriteString("$(" + name + ")")
			text = rest
		default:
			out.WriteString("$")
			text = after
		}
	}
}

func indexOf(env []corev1.EnvVar, name string) int {
	for i, variable := range env {
		if variable.Name == name {
			return i
		}
	}
	return -1
}

// assignments is env as programs get it.
func assignments(env []corev1.EnvVar) []string {
	words := make([]string, len(env))
	for i, variable := range env {
		words[i] = variable.Name + "=" + variable.Value
	}
	return words
}
