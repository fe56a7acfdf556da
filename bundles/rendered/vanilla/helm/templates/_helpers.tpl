{{/* Labels for all objects, in addition to their own. */}}
{{- define "vanilla.labels" -}}
{{- with .Values.commonLabels }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* Annotations for all objects, in addition to their own. */}}
{{- define "vanilla.annotations" -}}
{{- with .Values.commonAnnotations }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* The names of the admission policies' bindings in the cluster, each between spaces, or "*" without a cluster, as in helm template. */}}
{{- define "vanilla.inForce" -}}
{{- with lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicyBinding" "" "" }}
  {{- range .items }} {{ .metadata.name }} {{ end }}
{{- else }}*{{ end }}
{{- end }}

{{/* The quoted name of an image. If the values name a mirror, the image is taken from the mirror. Argument: a list of the root context and the image. */}}
{{- define "vanilla.image" -}}
{{- $values := (index . 0).Values }}
{{- $image := index . 1 }}
{{- with $values.imageRegistry | default ($values.global).imageRegistry }}
  {{- $parts := splitList "/" $image }}
  {{- if and (gt (len $parts) 1) (regexMatch "[.:]|^localhost$" (first $parts)) }}
    {{- $image = join "/" (rest $parts) }}
  {{- end }}
  {{- $image = printf "%s/%s" (trimSuffix "/" .) $image }}
{{- end }}
{{- quote $image }}
{{- end }}

{{/* The quoted text of a value that can be a number. */}}
{{- define "vanilla.text" -}}
{{- if kindIs "string" . }}{{ quote . }}{{ else }}{{ toJson . | quote }}{{ end }}
{{- end }}

{{/* A Kubernetes quantity, such as 500m or 4Gi, as a number. */}}
{{- define "vanilla.amount" -}}
{{- $text := kindIs "string" . | ternary . (toJson .) }}
{{- $number := regexFind "^[0-9.]+" $text }}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 }}
{{- mulf $number (get $units (trimPrefix $number $text) | default 1) }}
{{- end }}

{{/* The sum of a list of quantities. */}}
{{- define "vanilla.sum" -}}
{{- $sum := 0 }}
{{- range . }}{{ $sum = addf $sum (include "vanilla.amount" .) }}{{ end }}
{{- $sum }}
{{- end }}

{{/* Fails if a sum exceeds a limit. Argument: a list that starts with the name of the limit and the limit, followed by one list for each sum. The list of a sum contains its requester and the sum. */}}
{{- define "vanilla.atMost" -}}
{{- $most := include "vanilla.amount" (index . 1) | float64 }}
{{- $value := . }}
{{- range slice . 2 }}
  {{- if gt (index . 1 | float64) $most }}
    {{- fail (printf "%s: %s is too small for %s" (index $value 0) (index $value 1 | toJson) (index . 0)) }}
  {{- end }}
{{- end }}
{{- end }}
