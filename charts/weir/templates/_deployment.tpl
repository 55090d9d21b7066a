{{/*
The Deployment of a component: (dict root name values env ports tlsOptional startup).
`values` is operator or controlPlane, `env` and `ports` are YAML lists.
*/}}
{{- define "weir.deployment" -}}
{{- $root := .root -}}
{{- $values := .values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "weir.metadata" (list $root .name) | nindent 2 }}
spec:
  replicas: {{ $values.replicas }}
  revisionHistoryLimit: {{ $root.Values.revisionHistoryLimit }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  selector:
    matchLabels:
      {{- include "weir.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "weir.allLabels" (list $root .name $values.podLabels) | nindent 8 }}
      {{- with $values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "weir.account" (list $root $values .name) }}
      enableServiceLinks: false
      {{- with include "weir.imagePullSecrets" $root }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . | quote }}
      {{- end }}
      terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
      securityContext:
        {{- toYaml $root.Values.podSecurityContext | nindent 8 }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- range $constraint := . }}
        - {{- toYaml $constraint | nindent 10 }}
          {{- if not $constraint.labelSelector }}
          labelSelector:
            matchLabels:
              {{- include "weir.selector" $ | nindent 14 }}
          {{- end }}
        {{- end }}
      {{- end }}
      containers:
        - name: {{ trimPrefix "weir-" .name }}
          image: {{ include "weir.image" (list $root $values.image) | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          command: [{{ .name }}]
          env:
            {{- .env | trim | nindent 12 }}
            - name: LOG_LEVEL
              value: {{ $root.Values.log.level }}
            - name: LOG_FORMAT
              value: {{ $root.Values.log.format }}
            {{- with $values.settings }}
            {{- include "weir.settings" . | trim | nindent 12 }}
            {{- end }}
            {{- with $values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with $values.extraEnvFrom }}
          envFrom:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          ports:
            {{- .ports | trim | nindent 12 }}
          # Until it has read the cluster for the first time, a replica is not ready, but alive.
          startupProbe:
            httpGet:
              path: /healthz
              port: http
            periodSeconds: 1
            failureThreshold: 60
          readinessProbe:
            httpGet:
              path: /readyz
              port: http
            periodSeconds: 5
            timeoutSeconds: 5
          livenessProbe:
            httpGet:
              path: /healthz
              port: http
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          volumeMounts:
            - name: tls
              mountPath: /etc/weir/tls
              readOnly: true
            {{- with $values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          securityContext:
            {{- toYaml $root.Values.securityContext | nindent 12 }}
      volumes:
        - name: tls
          secret:
            secretName: {{ .name }}-tls
            {{- if .tlsOptional }}
            # The operator makes this Secret itself, and uses the files as soon as the kubelet has brought them.
            optional: true
            {{- end }}
            defaultMode: 0440
        {{- with $values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}

{{- define "weir.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- end -}}

{{- define "weir.disruptionBudget" -}}
{{- if and .root.Values.podDisruptionBudget.enabled (gt (int .values.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "weir.metadata" (list .root .name) | nindent 2 }}
spec:
  maxUnavailable: {{ .root.Values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "weir.selector" . | nindent 6 }}
{{- end }}
{{- end -}}
