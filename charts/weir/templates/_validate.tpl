{{/* Refuses values that contradict each other, with the name of the value and what is allowed. */}}
{{- define "weir.validate" -}}
{{- $values := .Values -}}
{{- include "weir.refuseSettings" (list "operator.settings" $values.operator.settings (include "weir.operatorSettings" . | fromYaml)) -}}
{{- include "weir.refuseSettings" (list "controlPlane.settings" $values.controlPlane.settings (include "weir.controlPlaneSettings" . | fromYaml)) -}}
{{- if and $values.watchNamespaces $values.watchNamespaceSelector -}}
  {{- fail "Cannot watch by name and by label: set watchNamespaces or watchNamespaceSelector" -}}
{{- end -}}
{{- if and $values.watchNamespaces $values.rateLimitService.create (not (has .Release.Namespace $values.watchNamespaces)) -}}
  {{- fail (printf "Cannot run the RateLimitService: its namespace %q is not among watchNamespaces. Add it, or set rateLimitService.create to false" .Release.Namespace) -}}
{{- end -}}
{{- if and (eq $values.certificates.source "cert-manager") (not $values.certificates.issuerRef.name) -}}
  {{- fail "Cannot order certificates without an issuer: certificates.issuerRef.name must be set when certificates.source is cert-manager" -}}
{{- end -}}
{{- if and $values.rateLimitService.create (include "weir.ordersCertificate" .) (not (include "weir.fleet" .)) -}}
  {{- fail (printf "Cannot order a certificate for a fleet whose name is shortened: \"%s.%s\" has more than 63 characters. Set rateLimitService.spec.fleet" .Release.Namespace $values.rateLimitService.name) -}}
{{- end -}}
{{- if and $values.webhook.enabled (eq $values.certificates.source "external") (not $values.certificates.webhookCaBundle) -}}
  {{- fail "Cannot make the webhook trusted: certificates.webhookCaBundle must be set when certificates.source is external, or webhook.enabled must be false" -}}
{{- end -}}
{{- if and $values.watchNamespaces $values.webhook.namespaceSelector -}}
  {{- fail "Cannot ask the webhook by name and by label: set watchNamespaces or webhook.namespaceSelector" -}}
{{- end -}}
{{- range $component := list "operator" "controlPlane" -}}
{{- $account := default (dict "create" true) (index $values $component).serviceAccount -}}
{{- if and (not $account.create) (not $account.name) -}}
  {{- fail (printf "Cannot bind rights to the account of every pod: %s.serviceAccount.name must be set when %s.serviceAccount.create is false" $component $component) -}}
{{- end -}}
{{- end -}}
{{- if and $values.certificates.webhookCaBundle (ne $values.certificates.source "external") -}}
  {{- fail "Cannot use certificates.webhookCaBundle: certificates.source is not external" -}}
{{- end -}}
{{- if and $values.rateLimitService.create (eq $values.certificates.source "external") (not (dig "controlPlane" "certificateSecret" "" $values.rateLimitService.spec)) -}}
  {{- fail "Cannot connect the RateLimitService: rateLimitService.spec.controlPlane.certificateSecret must name the Secret with its certificate when certificates.source is external, or rateLimitService.create must be false" -}}
{{- end -}}
{{- $spec := $values.rateLimitService.spec -}}
{{- $backend := default dict $spec.backend -}}
{{- $pods := include "weir.dataPlanePods" . -}}
{{- if and $values.rateLimitService.create (eq (default "" $backend.type) "memory") (gt (int $pods) 1) (not (dig "memory" "allowUnsharedCounters" false $backend)) -}}
  {{- fail (printf "Cannot run %d pods with rateLimitService.spec.backend.type memory: each pod counts by itself. Use one pod, the type redis or memcached, or set rateLimitService.spec.backend.memory.allowUnsharedCounters to true" (int $pods)) -}}
{{- end -}}
{{- $scaling := default dict $spec.autoscaling -}}
{{- $resources := $spec.resources -}}
{{- if and $values.rateLimitService.create $scaling $resources (or (not $scaling.metrics) $scaling.targetCPUUtilizationPercentage) (not (dig "requests" "cpu" "" $resources)) (not (dig "limits" "cpu" "" $resources)) -}}
  {{- fail "Cannot scale by the use of the processor: rateLimitService.spec.resources.requests.cpu must be set, or rateLimitService.spec.resources left out" -}}
{{- end -}}
{{- end -}}
