{{/* Name of the chart, in labels. */}}
{{- define "weir-account.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of the objects: that of the release, with the chart's name unless it contains it. */}}
{{- define "weir-account.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "weir-account.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "weir-account.selectorLabels" -}}
app.kubernetes.io/name: {{ include "weir-account.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "weir-account.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "weir-account.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: weir
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The labels of an object with further ones, which win: (list root labels). A key is there once. */}}
{{- define "weir-account.allLabels" -}}
{{- merge (deepCopy (default dict (index . 1))) (include "weir-account.labels" (index . 0) | fromYaml) | toYaml -}}
{{- end -}}

{{/* The metadata of an object. */}}
{{- define "weir-account.metadata" -}}
name: {{ include "weir-account.fullname" . }}
namespace: {{ include "weir-account.namespace" . | quote }}
labels:
  {{- include "weir-account.labels" . | nindent 2 }}
{{- end -}}

{{- define "weir-account.image" -}}
{{- with .Values.image -}}
{{- $path := list (default .registry ($.Values.global).imageRegistry) .repository | compact | join "/" -}}
{{- if .digest -}}{{ printf "%s@%s" $path .digest }}{{- else -}}{{ printf "%s:%s" $path (default $.Chart.AppVersion .tag) }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "weir-account.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "weir-account.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Name of the Secret with the keys. */}}
{{- define "weir-account.keysSecret" -}}
{{- default (printf "%s-keys" (include "weir-account.fullname" .)) .Values.keys.existingSecret -}}
{{- end -}}

{{/* "true" when users or avatars are in the data folder, which one process may use. */}}
{{- define "weir-account.isLocal" -}}
{{- if or (eq .Values.store.type "embedded") (eq .Values.media.type "local") }}true{{ end -}}
{{- end -}}

{{/* Name of the claim with the data. */}}
{{- define "weir-account.claim" -}}
{{- default (printf "%s-data" (include "weir-account.fullname" .)) .Values.persistence.existingClaim -}}
{{- end -}}

{{/* Origin under which browsers reach the service; empty when unknown. */}}
{{- define "weir-account.publicOrigin" -}}
{{- if .Values.publicOrigin -}}
{{- .Values.publicOrigin -}}
{{- else if and .Values.ingress.enabled .Values.ingress.hosts -}}
{{- printf "https://%s" (first .Values.ingress.hosts) -}}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
{{- printf "https://%s" (first .Values.httpRoute.hostnames) -}}
{{- end -}}
{{- end -}}

{{/* Address of the Service in the cluster. */}}
{{- define "weir-account.serviceHost" -}}
{{- printf "%s.%s.svc:%v" (include "weir-account.fullname" .) (include "weir-account.namespace" .) .Values.service.port -}}
{{- end -}}

{{/* The paths that callers need, as a JSON list. */}}
{{- define "weir-account.paths" -}}
{{- $paths := list "/api/v1/user" -}}
{{- if eq .Values.media.type "local" -}}{{- $paths = append $paths "/media" -}}{{- end -}}
{{- toJson $paths -}}
{{- end -}}

{{/* URL of the calls for `helm test`; empty when it cannot reach them. */}}
{{- define "weir-account.testUrl" -}}
{{- if .Values.tests.url -}}
{{- .Values.tests.url -}}
{{- else if .Values.tls.existingSecret -}}
{{- include "weir-account.publicOrigin" . -}}
{{- else -}}
{{- printf "http://%s" (include "weir-account.serviceHost" .) -}}
{{- end -}}
{{- end -}}

{{/* The Secrets with credentials of registries, each once, as a JSON list of names. */}}
{{- define "weir-account.pullSecrets" -}}
{{- $names := list -}}
{{- range concat (default list (.Values.global).imagePullSecrets) .Values.imagePullSecrets -}}
{{- if kindIs "string" . }}{{ $names = append $names . }}{{ else }}{{ $names = append $names .name }}{{ end -}}
{{- end -}}
{{- uniq $names | toJson -}}
{{- end -}}

{{/* The field of pods with these Secrets; nothing without any. */}}
{{- define "weir-account.imagePullSecrets" -}}
{{- with include "weir-account.pullSecrets" . | fromJsonArray -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Groups of alert rules as the values want them: (list groups rules path), where path is that of the rules in the values. */}}
{{- define "weir-account.alertGroups" -}}
{{- $rules := default dict (index . 1) -}}
{{- $path := index . 2 -}}
{{- $names := list -}}
{{- $groups := list -}}
{{- range $group := index . 0 }}
{{- $wanted := list }}
{{- range $group.rules }}
{{- $names = append $names .alert }}
{{- $own := default dict (get $rules .alert) }}
{{- if dig "enabled" true $own }}
{{- $wanted = append $wanted (mergeOverwrite (deepCopy .) (omit $own "enabled")) }}
{{- end }}
{{- end }}
{{- with $wanted }}
{{- $groups = append $groups (set (deepCopy $group) "rules" .) }}
{{- end }}
{{- end }}
{{- range $name, $_ := $rules }}
{{- if not (has $name $names) }}
{{- fail (printf "Cannot change %s.%s: there is no such alert. There are: %s" $path $name (sortAlpha $names | join ", ")) }}
{{- end }}
{{- end }}
{{- toYaml $groups }}
{{- end -}}
