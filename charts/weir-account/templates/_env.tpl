{{/* One variable with a value, unless it is empty. */}}
{{- define "weir-account.variable" -}}
{{- $value := toString .value -}}
{{- if ne $value "" }}
- name: {{ .name }}
  value: {{ $value | quote }}
{{- end -}}
{{- end -}}

{{/* The environment of the service. Secrets are files, so that no listing of pods or processes shows them. */}}
{{- define "weir-account.env" -}}
{{- $values := .Values -}}
{{- $env := list (list "NODE_ENV" "production") -}}
{{- $env = append $env (list "LOG_LEVEL" $values.log.level) -}}
{{- $env = append $env (list "LOG_FORMAT" $values.log.format) -}}
{{- $env = append $env (list "PUBLIC_ORIGIN" (include "weir-account.publicOrigin" .)) -}}
{{- $env = append $env (list "CORS_ORIGINS" (join "," $values.corsOrigins)) -}}
{{- $env = append $env (list "TRUST_PROXY" $values.trustProxy) -}}
{{- $env = append $env (list "DATA_DIR" "/var/lib/weir-account") -}}
{{- if include "weir-account.isLocal" . -}}
  {{- $env = append $env (list "ALLOW_EMBEDDED" "true") -}}
{{- end -}}
{{- $env = append $env (list "STORE" $values.store.type) -}}
{{- if eq $values.store.type "mongo" -}}
  {{- $env = append $env (list "MONGODB_URI_FILE" "/etc/weir/mongo/uri") -}}
{{- end -}}
{{- $env = append $env (list "MEDIA" $values.media.type) -}}
{{- $env = append $env (list "MEDIA_PUBLIC_URL" $values.media.publicUrl) -}}
{{- if eq $values.media.type "s3" -}}
  {{- with $values.media.s3 -}}
    {{- $env = append $env (list "S3_ENDPOINT" .endpoint) -}}
    {{- $env = append $env (list "S3_BUCKET" .bucket) -}}
    {{- $env = append $env (list "S3_REGION" .region) -}}
    {{- if .existingSecret -}}
      {{- $env = append $env (list "S3_ACCESS_KEY_ID_FILE" "/etc/weir/s3/access-key-id") -}}
      {{- $env = append $env (list "S3_SECRET_ACCESS_KEY_FILE" "/etc/weir/s3/secret-access-key") -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if $values.keys.tokenKeysKey -}}
  {{- $env = append $env (list "TOKEN_KEYS_FILE" "/etc/weir/keys/token-keys.json") -}}
{{- else -}}
  {{- $env = append $env (list "ACCESS_TOKEN_SECRET_FILE" "/etc/weir/keys/access-token") -}}
  {{- $env = append $env (list "REFRESH_TOKEN_SECRET_FILE" "/etc/weir/keys/refresh-token") -}}
{{- end -}}
{{- $env = append $env (list "ACCOUNT_LABEL_SECRET_FILE" "/etc/weir/keys/account-label") -}}
{{- if $values.keys.passwordPepperKey -}}
  {{- $env = append $env (list "PASSWORD_PEPPER_FILE" "/etc/weir/keys/password-pepper") -}}
{{- end -}}
{{- if (default dict $values.mail).existingSecret -}}
  {{- $env = append $env (list "SMTP_URL_FILE" "/etc/weir/mail/smtp-url") -}}
{{- end -}}
{{- if $values.tls.existingSecret -}}
  {{- $env = append $env (list "TLS_CERT" "/etc/weir/tls/tls.crt") -}}
  {{- $env = append $env (list "TLS_KEY" "/etc/weir/tls/tls.key") -}}
  {{- if $values.tls.clientCaKey -}}
    {{- $env = append $env (list "TLS_CLIENT_CACERT" "/etc/weir/tls/ca.crt") -}}
  {{- end -}}
{{- end -}}
{{- range $pair := concat $env (include "weir-account.rateLimitEnv" . | fromJsonArray) -}}
  {{- include "weir-account.variable" (dict "name" (index $pair 0) "value" (index $pair 1)) -}}
{{- end -}}
{{- range $name, $value := $values.settings -}}
  {{- include "weir-account.variable" (dict "name" $name "value" $value) -}}
{{- end -}}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end -}}
{{- end -}}

{{/* The variables of throttling, as a JSON list of names with values. */}}
{{- define "weir-account.rateLimitEnv" -}}
{{- $env := list (list "RATE_LIMIT_FAILURE" .Values.rateLimit.failure) -}}
{{- with .Values.rateLimit -}}
  {{- if .address -}}
    {{- $env = append $env (list "RATE_LIMIT_GRPC" .address) -}}
    {{- $env = append $env (list "RATE_LIMIT_DOMAIN" .domain) -}}
    {{- $env = append $env (list "RATE_LIMIT_TIMEOUT" .timeout) -}}
  {{- end -}}
  {{- if .tls.enabled -}}
    {{- $env = append $env (list "RATE_LIMIT_TLS" "true") -}}
    {{- if and .tls.existingSecret .tls.caKey -}}
      {{- $env = append $env (list "RATE_LIMIT_TLS_CACERT" "/etc/weir/ratelimit/ca.crt") -}}
    {{- end -}}
    {{- if and .tls.existingSecret .tls.certKey -}}
      {{- $env = append $env (list "RATE_LIMIT_TLS_CLIENT_CERT" "/etc/weir/ratelimit/tls.crt") -}}
      {{- $env = append $env (list "RATE_LIMIT_TLS_CLIENT_KEY" "/etc/weir/ratelimit/tls.key") -}}
    {{- end -}}
    {{- $env = append $env (list "RATE_LIMIT_TLS_SERVER_NAME" .tls.serverName) -}}
  {{- end -}}
{{- end -}}
{{- toJson $env -}}
{{- end -}}
