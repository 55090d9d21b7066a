{{- define "weir.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: weir
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The labels of an object with a name, and further ones, which win: (list root name labels). A key is there once. */}}
{{- define "weir.allLabels" -}}
{{- merge (deepCopy (default dict (index . 2))) (dict "app.kubernetes.io/name" (index . 1)) (include "weir.labels" (index . 0) | fromYaml) | toYaml -}}
{{- end -}}

{{/*
What the names of the chart's objects begin with. Secrets with certificates, the Lease and the configuration of the
webhook keep their names, by which the operator finds them, and labels stay.
*/}}
{{- define "weir.fullname" -}}
{{- default (default "weir" .Values.nameOverride) .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of an object of the chart: (list root name), where name begins with weir-. */}}
{{- define "weir.named" -}}
{{- if hasPrefix "weir-" (index . 1) -}}{{ include "weir.fullname" (index . 0) }}{{ trimPrefix "weir" (index . 1) }}{{- else -}}{{ index . 1 }}{{- end -}}
{{- end -}}

{{/*
The metadata of an object: (list root name [component [labels]]). Objects of a namespace are in that of the release.
Those of the component weir-ratelimit are named by their values.
*/}}
{{- define "weir.metadata" -}}
{{- $root := index . 0 -}}
name: {{ if eq "weir-ratelimit" (toString (index (append . "") 2)) }}{{ index . 1 }}{{ else }}{{ include "weir.named" . }}{{ end }}
namespace: {{ $root.Release.Namespace | quote }}
labels:
  {{- include "weir.allLabels" (list $root (default (index . 1) (index (append . "") 2)) (index (concat . (list "" dict)) 3)) | nindent 2 }}
{{- end -}}

{{/* The metadata of an object of the cluster: (list root name component). */}}
{{- define "weir.clusterMetadata" -}}
name: {{ include "weir.named" . }}
labels:
  app.kubernetes.io/name: {{ index . 2 }}
  {{- include "weir.labels" (index . 0) | nindent 2 }}
{{- end -}}

{{/* An image: (list root component), with component.repository and component.digest. */}}
{{- define "weir.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $path := list (default $root.Values.image.registry ($root.Values.global).imageRegistry) $image.repository | compact | join "/" -}}
{{- if $image.digest -}}{{ printf "%s@%s" $path $image.digest }}{{- else -}}{{ printf "%s:%s" $path (default $root.Chart.AppVersion $root.Values.image.tag) }}{{- end -}}
{{- end -}}

{{/* Also for values of an earlier chart that are reused. */}}
{{- define "weir.clusterDomain" -}}
{{ default "cluster.local" .Values.kubernetesClusterDomain }}
{{- end -}}

{{/* The name in the operator's certificate that may read reports. */}}
{{- define "weir.operatorUri" -}}
spiffe://{{ include "weir.clusterDomain" . }}/ns/{{ .Release.Namespace }}/sa/weir-operator
{{- end -}}

{{/* Variables of a program from the map `settings`, in the order of their names. */}}
{{- define "weir.settings" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* The namespaceSelector of the watched namespaces; nothing when all are. */}}
{{- define "weir.watchedNamespaces" -}}
{{- with .Values.watchNamespaces -}}
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: In
      values:
        {{- toYaml . | nindent 8 }}
{{- end -}}
{{- end -}}

{{/* A ServiceAccount bound to rules everywhere, or in each watched namespace: (dict root account role rules). */}}
{{- define "weir.grant" -}}
{{- $grant := . -}}
{{- if .root.Values.watchNamespaces }}
{{- range $namespace := .root.Values.watchNamespaces }}
{{- include "weir.namespaceGrant" (merge (dict "namespace" $namespace) $grant) }}
{{- end }}
{{- else }}
{{- include "weir.clusterGrant" . }}
{{- end }}
{{- end -}}

{{/* The same for one namespace: (dict root account role rules namespace). */}}
{{- define "weir.namespaceGrant" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  namespace: {{ .namespace | quote }}
  {{- include "weir.clusterMetadata" (list .root .role .account) | nindent 2 }}
rules:
  {{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  namespace: {{ .namespace | quote }}
  {{- include "weir.clusterMetadata" (list .root .role .account) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "weir.named" (list .root .role) }}
subjects:
  {{- include "weir.subject" (list .root .account) | nindent 2 }}
{{- end -}}

{{/* The same for the whole cluster, whatever is watched. */}}
{{- define "weir.clusterGrant" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  {{- include "weir.clusterMetadata" (list .root .role .account) | nindent 2 }}
rules:
  {{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  {{- include "weir.clusterMetadata" (list .root .role .account) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "weir.named" (list .root .role) }}
subjects:
  {{- include "weir.subject" (list .root .account) | nindent 2 }}
{{- end -}}

{{/* The fleet of the RateLimitService, as the operator names it; a longer name, which it shortens with a hash, is empty. */}}
{{- define "weir.fleet" -}}
{{- $fleet := default (printf "%s.%s" .Release.Namespace .Values.rateLimitService.name) .Values.rateLimitService.spec.fleet -}}
{{- if le (len $fleet) 63 -}}{{ $fleet }}{{- end -}}
{{- end -}}

{{/* "true" when the chart orders the certificate of the RateLimitService from cert-manager. */}}
{{- define "weir.ordersCertificate" -}}
{{- $controlPlane := default dict .Values.rateLimitService.spec.controlPlane -}}
{{- if and (eq .Values.certificates.source "cert-manager") (not $controlPlane.certificateSecret) (not $controlPlane.plaintext) }}true{{ end -}}
{{- end -}}

{{/* "1 pod" or "2 pods". */}}
{{- define "weir.pods" -}}
{{ . }} {{ ternary "pod" "pods" (eq (int .) 1) }}
{{- end -}}

{{/* The most pods of the RateLimitService when its counters are in memory. */}}
{{- define "weir.dataPlanePods" -}}
{{- $spec := .Values.rateLimitService.spec -}}
{{- int (ternary (dig "maxReplicas" 1 (default dict $spec.autoscaling)) (dig "replicas" 1 $spec) (hasKey $spec "autoscaling")) -}}
{{- end -}}

{{/* The Secrets with credentials of registries, each once, as a JSON list of names. */}}
{{- define "weir.pullSecrets" -}}
{{- $names := list -}}
{{- range concat (default list (.Values.global).imagePullSecrets) .Values.imagePullSecrets -}}
{{- if kindIs "string" . }}{{ $names = append $names . }}{{ else }}{{ $names = append $names .name }}{{ end -}}
{{- end -}}
{{- uniq $names | toJson -}}
{{- end -}}

{{/* The field of pods with these Secrets; nothing without any. */}}
{{- define "weir.imagePullSecrets" -}}
{{- with include "weir.pullSecrets" . | fromJsonArray -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The ServiceAccount of a component: (list root values name). */}}
{{- define "weir.account" -}}
{{- $account := default (dict "create" true) (index . 1).serviceAccount -}}
{{- default (ternary (include "weir.named" (list (index . 0) (index . 2))) "default" $account.create) $account.name -}}
{{- end -}}

{{/* The ServiceAccount itself, when the chart makes it: (dict root name values). */}}
{{- define "weir.serviceAccount" -}}
{{- $account := default (dict "create" true) .values.serviceAccount -}}
{{- if $account.create }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- $metadata := include "weir.metadata" (list .root .name) | fromYaml }}
  {{- $_ := set $metadata "name" (include "weir.account" (list .root .values .name)) }}
  {{- with $account.annotations }}{{ $_ := set $metadata "annotations" . }}{{ end }}
  {{- toYaml $metadata | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The same as the subject of a binding: (list root name), with the name of the component. */}}
{{- define "weir.subject" -}}
{{- $root := index . 0 -}}
{{- $values := ternary $root.Values.operator $root.Values.controlPlane (eq (index . 1) "weir-operator") -}}
- kind: ServiceAccount
  name: {{ include "weir.account" (list $root $values (index . 1)) }}
  namespace: {{ $root.Release.Namespace | quote }}
{{- end -}}

{{/* Groups of alert rules as the values want them: (list groups rules path), where path is that of the rules in the values. */}}
{{- define "weir.alertGroups" -}}
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
