{{/* What stands around the pods of a tier that serves: service, autoscaler, disruption budget, network policy, monitor. */}}
{{- define "sluice.around" }}
{{- $name := include "sluice.name" . }}
{{- $labels := include "sluice.labels" . }}
---
apiVersion: v1
kind: Service
metadata:
  {{- include "sluice.metadata" . | nindent 2 }}
spec:
  selector: {{ $labels }}
  ports: [{ name: http, port: {{ .tier.ports.http }}, targetPort: http }]
{{- with .tier.ports.grpc }}
---
# Headless, so that Envoy sees every pod and spreads its calls: one gRPC connection through a cluster IP stays at one pod.
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}-grpc
  labels: { app.kubernetes.io/name: sluice, app.kubernetes.io/instance: {{ $.root.Release.Name }} }
spec:
  clusterIP: None
  selector: {{ $labels }}
  ports: [{ name: grpc, port: {{ . }}, targetPort: grpc, appProtocol: kubernetes.io/h2c }]
{{- end }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "sluice.metadata" . | nindent 2 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ $name }} }
  minReplicas: {{ .tier.autoscale.min }}
  maxReplicas: {{ .tier.autoscale.max }}
  metrics:
    {{- with .tier.autoscale.cpu }}
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: {{ . }} } }
    {{- end }}
    {{- with .tier.autoscale.metric }}
    - type: Pods
      pods: { metric: { name: {{ . }} }, target: { type: AverageValue, averageValue: {{ $.tier.autoscale.target | int | quote }} } }
    {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "sluice.metadata" . | nindent 2 }}
spec:
  minAvailable: 1
  selector: { matchLabels: {{ $labels }} }
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "sluice.metadata" . | nindent 2 }}
spec:
  podSelector: { matchLabels: {{ $labels }} }
  policyTypes: [Ingress]
  ingress:
    - from: {{ toJson .root.Values.networkFrom }}
      ports:
        {{- range $port, $number := .tier.ports }}
        - { port: {{ $port }} }
        {{- end }}
{{- with .root.Values.monitor }}
{{- if .enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ $name }}
  labels: {{ merge (dict "app.kubernetes.io/name" "sluice") .labels | toJson }}
spec:
  selector: { matchLabels: {{ $labels }} }
  endpoints: [{ port: http, path: /metrics, interval: {{ .interval }} }]
{{- end }}
{{- end }}
{{- end }}
