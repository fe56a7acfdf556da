{{/* Labels for all objects, besides their own. */}}
{{- define "minimal.labels" -}}
{{- with .Values.commonLabels }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* Annotations for all objects, besides their own. */}}
{{- define "minimal.annotations" -}}
{{- with .Values.commonAnnotations }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* An image, from the mirror if there is one. It is given the root and the image. */}}
{{- define "minimal.image" -}}
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

{{/* Text, of a value that may be a number. */}}
{{- define "minimal.text" -}}
{{- if kindIs "string" . }}{{ quote . }}{{ else }}{{ toJson . | quote }}{{ end }}
{{- end }}

{{/* An amount of CPUs or memory as a number, as quantities of Kubernetes are read. */}}
{{- define "minimal.amount" -}}
{{- $text := kindIs "string" . | ternary . (toJson .) }}
{{- $number := regexFind "^[0-9.]+" $text }}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 }}
{{- mulf $number (get $units (trimPrefix $number $text) | default 1) }}
{{- end }}

{{/* The sum of amounts. */}}
{{- define "minimal.sum" -}}
{{- $sum := 0 }}
{{- range . }}{{ $sum = addf $sum (include "minimal.amount" .) }}{{ end }}
{{- $sum }}
{{- end }}

{{/* Fails where somebody asks for more than a value. It is given the value's name, the value, and for each who asks a list of who it is and how much. */}}
{{- define "minimal.atMost" -}}
{{- $most := include "minimal.amount" (index . 1) | float64 }}
{{- $value := . }}
{{- range slice . 2 }}
  {{- if gt (index . 1 | float64) $most }}
    {{- fail (printf "%s: %s is less than what %s asks for" (index $value 0) (index $value 1 | toJson) (index . 0)) }}
  {{- end }}
{{- end }}
{{- end }}
