{{/* The labels of the pods of `helm test`, by which NetworkPolicies admit them. */}}
{{- define "weir.testLabels" -}}
app.kubernetes.io/name: weir-test
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* A pod of `helm test`: (dict root name weight image container volumes); container and volumes are YAML. */}}
{{- define "weir.testPod" -}}
{{- $values := .root.Values -}}
apiVersion: v1
kind: Pod
metadata:
  {{- include "weir.metadata" (list .root (printf "weir-test-%s" .name) "weir-test") | nindent 2 }}
  annotations:
    helm.sh/hook: test
    helm.sh/hook-weight: {{ .weight | quote }}
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with include "weir.imagePullSecrets" .root }}
  {{- . | nindent 2 }}
  {{- end }}
  securityContext:
    {{- toYaml $values.podSecurityContext | nindent 4 }}
  {{- range $field := list "nodeSelector" "tolerations" "affinity" }}
  {{- with index $values.tests $field }}
  {{ $field }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  containers:
    - name: {{ .name }}
      image: {{ include "weir.image" (list .root .image) | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      {{- .container | trim | nindent 6 }}
      resources:
        requests:
          cpu: 50m
          memory: 64Mi
        limits:
          memory: 192Mi
      securityContext:
        {{- toYaml $values.securityContext | nindent 8 }}
  {{- with .volumes }}
  volumes:
    {{- . | trim | nindent 4 }}
  {{- end }}
{{- end -}}
