{{- define "sixledger.fullname" -}}
{{- if contains "sixledger" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-sixledger" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "sixledger.selector" -}}
app.kubernetes.io/name: sixledger
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end }}

{{- define "sixledger.labels" -}}
app.kubernetes.io/name: sixledger
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "sixledger.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The database, for servers and migrations. */}}
{{- define "sixledger.databaseEnv" -}}
- name: SIXLEDGER_STORE
  valueFrom: {secretKeyRef: {name: {{ .Values.database.existingSecret }}, key: {{ .Values.database.secretKey }}}}
{{- with .Values.database.directSecretKey }}
- name: SIXLEDGER_POSTGRES_DIRECT
  valueFrom: {secretKeyRef: {name: {{ $.Values.database.existingSecret }}, key: {{ . }}}}
{{- end }}
- name: SIXLEDGER_POSTGRES_REQUIRE_SYNCHRONOUS_STANDBY
  value: {{ ternary "yes" "no" .Values.database.requireSynchronousStandby | quote }}
{{- end }}

{{- define "sixledger.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "sixledger.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
