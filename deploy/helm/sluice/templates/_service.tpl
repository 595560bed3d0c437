{{/* Parts of all three services: their authentication, the configuration file, and the operator's additions. */}}

{{/* Variable by which services authenticate each other: a token, the path of a file with one, or the folder of certificates. */}}
{{- define "sluice.identityVariable" -}}
{{- $identity := .Values.serviceIdentity -}}
{{- if eq $identity "certificates" -}}
- name: SLUICE_TLS_DIR
  value: /etc/sluice-tls
{{- else if eq $identity "tokenFile" -}}
- name: SLUICE_SERVICE_TOKEN_FILE
  value: /etc/sluice-token/service-token
{{- else -}}
- name: SLUICE_SERVICE_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ .Values.secrets.service }}
      key: service-token
{{- end }}
{{- end }}

{{/* Folders of every service. Parameters: root, values. */}}
{{- define "sluice.mounts" -}}
- name: config
  mountPath: /etc/sluice
  readOnly: true
{{- if eq .root.Values.serviceIdentity "certificates" }}
- name: tls
  mountPath: /etc/sluice-tls
  readOnly: true
{{- else if eq .root.Values.serviceIdentity "tokenFile" }}
- name: service-token
  mountPath: /etc/sluice-token
  readOnly: true
{{- end }}
{{- with .values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Volumes of every service. Parameters: root, name, values. */}}
{{- define "sluice.volumes" -}}
- name: config
  configMap:
    name: {{ .root.Values.configuration.existingConfigMap | default "sluice-config" }}
{{- if eq .root.Values.serviceIdentity "certificates" }}
- name: tls
  secret:
    secretName: {{ .name }}-tls
{{- else if eq .root.Values.serviceIdentity "tokenFile" }}
- name: service-token
  secret:
    secretName: {{ .root.Values.secrets.service }}
    items:
      - key: service-token
        path: service-token
{{- end }}
{{- with .values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Variables that options add to a service. Parameters: root, values, and optionally countsLimits for one that may use Redis. */}}
{{- define "sluice.optionalVariables" -}}
{{- if and .countsLimits .root.Values.redis.enabled }}
- name: REDIS_URL
  valueFrom:
    secretKeyRef:
      name: {{ .root.Values.secrets.redis }}
      key: url
{{- end }}
{{- with .root.Values.tracing }}
{{- if .enabled }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
- name: OTEL_TRACES_SAMPLER
  value: {{ .sampler | quote }}
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ .samplerArgument | quote }}
{{- end }}
{{- end }}
{{- with .values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}
