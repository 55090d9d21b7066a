{{/*
The Secrets of the pod, as a JSON list: name of the volume, of the Secret, and keys by the names of their files. Each is
mounted at /etc/weir/<name of the volume>.
*/}}
{{- define "weir-account.secrets" -}}
{{- $values := .Values -}}
{{- $keys := dict "account-label" $values.keys.accountLabelKey -}}
{{- if $values.keys.tokenKeysKey -}}
  {{- $_ := set $keys "token-keys.json" $values.keys.tokenKeysKey -}}
{{- else -}}
  {{- $_ := set $keys "access-token" $values.keys.accessTokenKey -}}
  {{- $_ := set $keys "refresh-token" $values.keys.refreshTokenKey -}}
{{- end -}}
{{- with $values.keys.passwordPepperKey -}}{{- $_ := set $keys "password-pepper" . -}}{{- end -}}
{{- $secrets := list (dict "name" "keys" "secret" (include "weir-account.keysSecret" .) "files" $keys) -}}
{{- if eq $values.store.type "mongo" -}}
  {{- with $values.store.mongo -}}
    {{- $secrets = append $secrets (dict "name" "mongo" "secret" .existingSecret "files" (dict "uri" .uriKey)) -}}
  {{- end -}}
{{- end -}}
{{- if and (eq $values.media.type "s3") $values.media.s3.existingSecret -}}
  {{- with $values.media.s3 -}}
    {{- $files := dict "access-key-id" .accessKeyIdKey "secret-access-key" .secretAccessKeyKey -}}
    {{- $secrets = append $secrets (dict "name" "s3" "secret" .existingSecret "files" $files) -}}
  {{- end -}}
{{- end -}}
{{- with $values.mail -}}
  {{- if .existingSecret -}}
    {{- $secrets = append $secrets (dict "name" "mail" "secret" .existingSecret "files" (dict "smtp-url" (default "SMTP_URL" .urlKey))) -}}
  {{- end -}}
{{- end -}}
{{- with $values.rateLimit.tls -}}
  {{- if and .enabled .existingSecret -}}
    {{- $files := dict -}}
    {{- with .caKey -}}{{- $_ := set $files "ca.crt" . -}}{{- end -}}
    {{- with .certKey -}}{{- $_ := set $files "tls.crt" . -}}{{- end -}}
    {{- with .keyKey -}}{{- $_ := set $files "tls.key" . -}}{{- end -}}
    {{- $secrets = append $secrets (dict "name" "ratelimit" "secret" .existingSecret "files" $files) -}}
  {{- end -}}
{{- end -}}
{{- with $values.tls -}}
  {{- if .existingSecret -}}
    {{- $files := dict "tls.crt" "tls.crt" "tls.key" "tls.key" -}}
    {{- with .clientCaKey -}}{{- $_ := set $files "ca.crt" . -}}{{- end -}}
    {{- $secrets = append $secrets (dict "name" "tls" "secret" .existingSecret "files" $files) -}}
  {{- end -}}
{{- end -}}
{{- toJson $secrets -}}
{{- end -}}

{{- define "weir-account.volumes" -}}
- name: data
  {{- if and (include "weir-account.isLocal" .) .Values.persistence.enabled }}
  persistentVolumeClaim:
    claimName: {{ include "weir-account.claim" . }}
  {{- else }}
  emptyDir: {}
  {{- end }}
- name: tmp
  emptyDir: {}
{{- range $secret := include "weir-account.secrets" . | fromJsonArray }}
- name: {{ $secret.name }}
  secret:
    secretName: {{ $secret.secret }}
    defaultMode: 0440
    items:
      {{- range $path, $key := $secret.files }}
      - key: {{ $key }}
        path: {{ $path }}
      {{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "weir-account.volumeMounts" -}}
- name: data
  mountPath: /var/lib/weir-account
- name: tmp
  mountPath: /tmp
{{- range $secret := include "weir-account.secrets" . | fromJsonArray }}
- name: {{ $secret.name }}
  mountPath: /etc/weir/{{ $secret.name }}
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}
