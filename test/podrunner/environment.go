//go:build linux

package podrunner

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// containerEnvironment returns the variables of a container. The variables that a container runtime sets come first,
// followed by the variables of the spec. A variable of the spec can refer to variables before it.
func containerEnvironment(hostname string, spec []corev1.EnvVar) []corev1.EnvVar {
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

func expandAll(args []string, env []corev1.EnvVar) []string {
	expanded := make([]string, len(args))
	for i, arg := range args {
		expanded[i] = expand(arg, env)
	}
	return expanded
}

// expand replaces $(NAME) with the value of the variable NAME, if the variable exists, and replaces $$ with $.
// Kubernetes replaces $(NAME) and $$ in the same way, before a shell reads the text.
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
	return slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == name })
}

// formatVariables returns variables in the form NAME=value.
func formatVariables(env []corev1.EnvVar) []string {
	list := make([]string, len(env))
	for i, variable := range env {
		list[i] = variable.Name + "=" + variable.Value
	}
	return list
}
