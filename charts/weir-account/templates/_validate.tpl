{{/* Settings that the chart sets, as patterns of names with what decides them. */}}
{{- define "weir-account.ownSettings" -}}
(ACCESS|REFRESH)_TOKEN_SECRET|ACCOUNT_LABEL_SECRET|PASSWORD_PEPPER|TOKEN_KEYS_FILE: keys decides it
ALLOW_EMBEDDED|MONGODB_.*|STORE: store decides it
CORS_ORIGINS: corsOrigins decides it
COOKIE_INSECURE_DEV|NODE_ENV: the chart is for production
DATA_DIR|(METRICS_)?(HOST|PORT): Services, probes and volumes of the chart depend on it
LOG_.*: log decides it
MEDIA.*|S3_.*: media decides it
PUBLIC_ORIGIN: publicOrigin decides it
RATE_LIMIT_.*: rateLimit decides it
SMTP_URL: it is a secret; mail.existingSecret names the Secret with it
TLS_.*: tls decides it
TRUST_PROXY: trustProxy decides it
{{- end -}}

{{/* Refuses values that contradict each other, with the name of the value and what is allowed. */}}
{{- define "weir-account.validate" -}}
{{- $values := .Values -}}
{{- range $name, $_ := $values.settings -}}
{{- range $pattern, $reason := include "weir-account.ownSettings" $ | fromYaml -}}
{{- if regexMatch (printf "^(%s)$" $pattern) $name -}}
  {{- fail (printf "Cannot set settings.%s: %s" $name $reason) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" (include "weir-account.fullname" .)) -}}
  {{- fail (printf "Cannot name a Service %q: it must begin with a letter and have lower-case letters, digits and \"-\" only. Set fullnameOverride" (include "weir-account.fullname" .)) -}}
{{- end -}}
{{- if gt (int $values.replicas) 1 -}}
  {{- if eq $values.store.type "embedded" -}}
    {{- fail (printf "Cannot run %v replicas with the embedded store: one process at a time may use its file. Set replicas to 1, or store.type to mongo" $values.replicas) -}}
  {{- end -}}
  {{- if eq $values.media.type "local" -}}
    {{- fail (printf "Cannot run %v replicas with local media: each pod would have its own avatars. Set replicas to 1, or media.type to s3" $values.replicas) -}}
  {{- end -}}
{{- end -}}
{{- if and (eq $values.store.type "mongo") (not $values.store.mongo.existingSecret) -}}
  {{- fail "Cannot use MongoDB without its URI: store.mongo.existingSecret must name a Secret with it, when store.type is mongo" -}}
{{- end -}}
{{- if and (eq $values.media.type "s3") (not $values.media.s3.bucket) -}}
  {{- fail "Cannot use S3 without a bucket: media.s3.bucket must be set when media.type is s3" -}}
{{- end -}}
{{- if and (eq $values.media.type "s3") $values.media.s3.endpoint (not $values.media.publicUrl) -}}
  {{- fail "Cannot make the URLs of avatars: media.publicUrl must be set with media.s3.endpoint, such as https://media.example.com/" -}}
{{- end -}}
{{- if and (eq $values.media.type "local") (not (include "weir-account.publicOrigin" .)) -}}
  {{- fail "Cannot make the URLs of avatars: publicOrigin must be set with media.type local, such as https://account.example.com, or a host of ingress or httpRoute" -}}
{{- end -}}
{{- if not $values.rateLimit.address -}}
  {{- if eq $values.rateLimit.failure "closed" -}}
    {{- fail "Cannot refuse calls without a rate limit service: rateLimit.failure must be local or open when rateLimit.address is empty" -}}
  {{- end -}}
  {{- if $values.rateLimit.tls.enabled -}}
    {{- fail "Cannot use TLS without a rate limit service: rateLimit.tls.enabled needs rateLimit.address" -}}
  {{- end -}}
{{- end -}}
{{- if and $values.rateLimit.tls.existingSecret (not $values.rateLimit.tls.enabled) -}}
  {{- fail "Cannot use rateLimit.tls.existingSecret: rateLimit.tls.enabled is false" -}}
{{- end -}}
{{- if ne (empty $values.rateLimit.tls.certKey) (empty $values.rateLimit.tls.keyKey) -}}
  {{- fail "Cannot use half a client certificate: rateLimit.tls.certKey and rateLimit.tls.keyKey are set together or not at all" -}}
{{- end -}}
{{- if and $values.tls.clientCaKey (not $values.tls.existingSecret) -}}
  {{- fail "Cannot ask clients for certificates without TLS: tls.clientCaKey needs tls.existingSecret" -}}
{{- end -}}
{{- if and $values.ingress.enabled (not $values.ingress.hosts) -}}
  {{- fail "Cannot make an Ingress without a host: ingress.hosts is empty" -}}
{{- end -}}
{{- if and $values.httpRoute.enabled (not $values.httpRoute.parentRefs) -}}
  {{- fail "Cannot make an HTTPRoute without a Gateway: httpRoute.parentRefs is empty" -}}
{{- end -}}
{{- $budget := $values.podDisruptionBudget -}}
{{- if and $budget.enabled (eq (toString $budget.minAvailable) "") (eq (toString $budget.maxUnavailable) "") -}}
  {{- fail "Cannot make a PodDisruptionBudget without a bound, which admits no eviction: set podDisruptionBudget.minAvailable or maxUnavailable" -}}
{{- end -}}
{{- if and (ne (toString $budget.minAvailable) "") (ne (toString $budget.maxUnavailable) "") (ne (toString $budget.maxUnavailable) "1") -}}
  {{- fail "Cannot make a PodDisruptionBudget with two bounds: set podDisruptionBudget.minAvailable or maxUnavailable" -}}
{{- end -}}
{{- end -}}
