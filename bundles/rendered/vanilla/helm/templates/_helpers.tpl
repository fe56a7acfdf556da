{{/* Labels for all objects, besides their own. */}}
{{- define "vanilla.labels" -}}
{{- with .Values.commonLabels }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* Annotations for all objects, besides their own. */}}
{{- define "vanilla.annotations" -}}
{{- with .Values.commonAnnotations }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* An image, from the mirror if there is one. It is given the root and the image. */}}
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

{{/* Text, of a value that may be a number. */}}
{{- define "vanilla.text" -}}
{{- if kindIs "string" . }}{{ quote . }}{{ else }}{{ toJson . | quote }}{{ end }}
{{- end }}
