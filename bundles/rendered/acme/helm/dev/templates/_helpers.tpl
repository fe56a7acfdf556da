{{/* Labels for all objects, in addition to their own. */}}
{{- define "acme-dev.labels" -}}
{{- with .Values.commonLabels }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* Annotations for all objects, in addition to their own. */}}
{{- define "acme-dev.annotations" -}}
{{- with .Values.commonAnnotations }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* The names of the admission policies' bindings in the cluster, each between spaces, or "*" without a cluster, as in helm template. */}}
{{- define "acme-dev.inForce" -}}
{{- with lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicyBinding" "" "" }}
  {{- range .items }} {{ .metadata.name }} {{ end }}
{{- else }}*{{ end }}
{{- end }}

{{/* The quoted name of an image. If the values name a mirror, the image is taken from the mirror. Argument: a list of the root context and the image. */}}
{{- define "acme-dev.image" -}}
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
{{- define "acme-dev.text" -}}
{{- if kindIs "string" . }}{{ quote . }}{{ else }}{{ toJson . | quote }}{{ end }}
{{- end }}

{{/* A Kubernetes quantity, such as 500m or 4Gi, as a number. */}}
{{- define "acme-dev.amount" -}}
{{- $text := kindIs "string" . | ternary . (toJson .) }}
{{- $number := regexFind "^[0-9.]+" $text }}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 }}
{{- mulf $number (get $units (trimPrefix $number $text) | default 1) }}
{{- end }}

{{/* The sum of a list of quantities. */}}
{{- define "acme-dev.sum" -}}
{{- $sum := 0 }}
{{- range . }}{{ $sum = addf $sum (include "acme-dev.amount" .) }}{{ end }}
{{- $sum }}
{{- end }}

{{/* Fails if a sum exceeds a limit. Argument: a list that starts with the name of the limit and the limit, followed by one list for each sum. The list of a sum contains its requester and the sum. */}}
{{- define "acme-dev.atMost" -}}
{{- $most := include "acme-dev.amount" (index . 1) | float64 }}
{{- $value := . }}
{{- range slice . 2 }}
  {{- if gt (index . 1 | float64) $most }}
    {{- fail (printf "%s: %s is too small for %s" (index $value 0) (index $value 1 | toJson) (index . 0)) }}
  {{- end }}
{{- end }}
{{- end }}
