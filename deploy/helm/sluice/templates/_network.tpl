{{/* Selector of the pods of services. The parameter is the list of their names. */}}
{{- define "sluice.services" -}}
matchExpressions:
  - key: app.kubernetes.io/name
    operator: In
    values: {{ toJson . }}
{{- end }}

{{/* Addresses of the internet, without private ones and those of nodes and metadata services. */}}
{{- define "sluice.internet" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except:
      - 10.0.0.0/8
      - 172.16.0.0/12
      - 192.168.0.0/16
      - 169.254.0.0/16
      - 100.64.0.0/10
      - 198.18.0.0/15
      - 168.63.129.16/32
{{- end }}

{{/* Network policy for the traffic of an option. Parameters: root, name, services, to (list of peers), port, and optionally morePorts. */}}
{{- define "sluice.egress" -}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "sluice.metadata" . | nindent 2 }}
spec:
  podSelector:
    {{- if eq (len .services) 1 }}
    matchLabels:
      app.kubernetes.io/name: {{ first .services }}
    {{- else }}
    {{- include "sluice.services" .services | nindent 4 }}
    {{- end }}
  policyTypes: [Egress]
  egress:
    - to:
        {{- toYaml .to | nindent 8 }}
      ports:
        - port: {{ .port }}
        {{- range .morePorts }}
        - port: {{ . }}
        {{- end }}
{{- end }}
