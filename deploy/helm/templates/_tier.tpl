{{/* The name of what belongs to a tier: that of the release for the daemon, else with the tier. */}}
{{- define "sluice.name" -}}
{{ if eq .tierName "serve" }}{{ .root.Release.Name }}{{ else }}{{ .root.Release.Name }}-{{ .tierName }}{{ end }}
{{- end }}

{{- define "sluice.labels" -}}
{ app.kubernetes.io/name: sluice, app.kubernetes.io/instance: {{ .root.Release.Name }}, app.kubernetes.io/component: {{ .tierName }} }
{{- end }}

{{- define "sluice.metadata" -}}
name: {{ include "sluice.name" . }}
labels: {{ include "sluice.labels" . }}
{{- end }}

{{/* The pod of a tier. Without root rights, without a writable root, and without variables for every service: Kubernetes
would set SLUICE_PORT=tcp://... for a service of that name. */}}
{{- define "sluice.pod" -}}
{{- $tier := .tier -}}
terminationGracePeriodSeconds: {{ $tier.graceSeconds }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: RuntimeDefault } }
{{- if $tier.schedule }}
restartPolicy: OnFailure
{{- else }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: { matchLabels: {{ include "sluice.labels" . }} }
{{- end }}
containers:
  - name: sluice
    image: {{ .root.Values.image | quote }}
    args: {{ toJson $tier.args }}
    env:
      - { name: SLUICE_HOST, value: 0.0.0.0 }
      {{- range $name, $value := $tier.env }}
      - { name: {{ $name }}, value: {{ $value | quote }} }
      {{- end }}
      {{- range $name, $key := $tier.secretFiles }}
      - { name: {{ $name }}, value: /run/secrets/sluice/{{ $key }} }
      {{- end }}
      {{- range $name, $key := $tier.secretEnv }}
      - { name: {{ $name }}, valueFrom: { secretKeyRef: { name: {{ $.root.Values.secret }}, key: {{ $key }} } } }
      {{- end }}
    {{- with $tier.ports }}
    ports:
      {{- range $name, $port := . }}
      - { name: {{ $name }}, containerPort: {{ $port }} }
      {{- end }}
    startupProbe: { httpGet: { path: /health, port: http }, periodSeconds: 1, failureThreshold: 60 }
    livenessProbe: { httpGet: { path: /health, port: http }, periodSeconds: 10, timeoutSeconds: 3, failureThreshold: 6 }
    readinessProbe: { httpGet: { path: /ready, port: http }, periodSeconds: 5, timeoutSeconds: 3 }
    # Endpoints learn of the end before connections are refused.
    lifecycle: { preStop: { exec: { command: [sleep, "3"] } } }
    {{- end }}
    resources: {{ toJson $tier.resources }}
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
    volumeMounts:
      - { name: files, mountPath: /etc/sluice, readOnly: true }
      - { name: secrets, mountPath: /run/secrets/sluice, readOnly: true }
      {{- range $tier.mounts }}
      - {{ toJson . }}
      {{- end }}
volumes:
  - { name: files, configMap: { name: {{ .root.Release.Name }} } }
  - name: secrets
    secret:
      secretName: {{ .root.Values.secret }}
      items:
        {{- range $key := concat (values $tier.secretFiles) (default list $tier.secretKeys) | sortAlpha }}
        - { key: {{ $key }}, path: {{ $key }} }
        {{- end }}
  {{- range $tier.volumes }}
  - {{ toJson . }}
  {{- end }}
{{- end }}
