{{/*
Settings that the chart sets, as patterns of names with what decides them. values.schema.json has the names that exist.
*/}}
{{- define "weir.commonSettings" -}}
HTTP_(HOST|PORT): probes, Services and policies of the chart depend on it
KUBE.*: pods use the account that the chart gives them
LOG_.*: log decides it for all programs
WATCH_.*: watchNamespaces and watchNamespaceSelector decide it, and the rights that it needs
{{- end -}}

{{- define "weir.operatorSettings" -}}
{{ include "weir.commonSettings" . }}
CERTIFICATES: certificates.source decides it
CLUSTER_DOMAIN: kubernetesClusterDomain decides it for all certificates and names
CONTROL_PLANE_.*|LEASE_NAME|OPERATOR_NAMESPACE: Services, certificates and roles of the chart depend on it
IMAGE: dataPlane.image decides it
IMAGE_PULL_SECRETS: imagePullSecrets decides it
POD_MONITOR_.*|MONITORING_NAMESPACES: monitoring decides it, for all programs
WEBHOOK_.*: webhook and certificates.source decide it
{{- end -}}

{{- define "weir.controlPlaneSettings" -}}
{{ include "weir.commonSettings" . }}
ADS_(HOST|PORT): Services of the chart depend on it
ADS_(FLEET.*|PLAINTEXT|REPORT_SANS|TLS_.*): certificates of the chart depend on it
HTTP_REPORTS: controlPlane.httpReports decides it
SOURCE.*|STATE_DIRECTORY: the chart's control plane reads the cluster
{{- end -}}

{{/* Refuses settings that the chart sets: (list path settings patterns). */}}
{{- define "weir.refuseSettings" -}}
{{- $path := index . 0 -}}
{{- $patterns := index . 2 -}}
{{- range $name, $_ := index . 1 -}}
{{- range $pattern, $reason := $patterns -}}
{{- if regexMatch (printf "^(%s)$" $pattern) $name -}}
  {{- fail (printf "Cannot set %s.%s: %s" $path $name $reason) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
