{{/* Name, namespace and labels of an object. Parameters: root, name, and optionally labels and annotations. */}}
{{- define "sluice.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  app.kubernetes.io/part-of: sluice
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Labels and annotations of a pod. Parameters: name, values, and optionally isDatabaseClient. */}}
{{- define "sluice.podMetadata" -}}
labels:
  app.kubernetes.io/name: {{ .name }}
  app.kubernetes.io/part-of: sluice
  {{- if .isDatabaseClient }}
  sluice.dev/database-client: "true"
  {{- end }}
  {{- with .values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Fields that every pod has. Parameters: root, values, and optionally ownsFiles for a pod whose volumes its user owns. */}}
{{- define "sluice.pod" -}}
automountServiceAccountToken: false
# Kubernetes would set variables for each Service, and for one called sluice that would be SLUICE_PORT, which the processes read.
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  {{- if .ownsFiles }}
  fsGroup: 10001
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- range $field := list "nodeSelector" "tolerations" "affinity" }}
{{- with index $.values $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* Image of a service. Parameters: root, service. */}}
{{- define "sluice.image" -}}
{{- $image := .root.Values.image -}}
image: {{ with $image.registry }}{{ . }}/{{ end }}{{ $image.repository }}/{{ .service }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- with $image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}

{{/* Security context of a container, as the restricted Pod Security Standard requires, with a read-only root file system. */}}
{{- define "sluice.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Spreads the pods of a service over zones and nodes, if the cluster has several. The parameter is the name of the service. */}}
{{- define "sluice.spread" -}}
{{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      app.kubernetes.io/name: {{ $ }}
{{- end }}
{{- end }}

{{- define "sluice.probes" -}}
startupProbe:
  httpGet:
    path: /livez
    port: health
  periodSeconds: 1
  failureThreshold: 30
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  periodSeconds: 2
  failureThreshold: 2
livenessProbe:
  httpGet:
    path: /livez
    port: health
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}

{{/* Disruption budget of a service. Parameters: root, name. */}}
{{- define "sluice.disruptionBudget" -}}
{{- if .root.Values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "sluice.metadata" . | nindent 2 }}
spec:
  maxUnavailable: {{ .root.Values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
{{- end }}
{{- end }}
