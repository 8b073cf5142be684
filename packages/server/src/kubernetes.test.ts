import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

const [finder, renderer] = ['../../../scripts/helm.mjs', '../../../scripts/manifests.mjs']
const { findHelm } = (await import(finder)) as { findHelm(): string | undefined }
const { renderChart, renderManifests, tiers } = (await import(renderer)) as {
  tiers: readonly string[]
  renderChart(helm: string, release: string, ...args: readonly string[]): string
  renderManifests(helm: string): ReadonlyMap<string, string>
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  // biome-ignore lint/suspicious/noExplicitAny: what Kubernetes reads has no types here.
  readonly spec: any
}

const folder = new URL('../../../deploy/', import.meta.url)
const pathOf = (name: string): string => fileURLToPath(new URL(name, folder))
const read = (name: string): string => readFileSync(pathOf(name), 'utf8')
const manifestsIn = (text: string): Manifest[] => parseAllDocuments(text).map((each) => each.toJS())
const helm = findHelm()!

describe.skipIf(helm === undefined)('the Helm chart (needs helm: npm run setup)', () => {
  const everything = ['--set', tiers.map((tier) => `tiers.${tier}.enabled=true`).join()]

  test('passes helm lint with every tier', () => {
    const { status, stdout } = spawnSync(helm, ['lint', '--strict', pathOf('helm'), ...everything], {
      encoding: 'utf8',
    })
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('0 chart(s) failed') })
  })

  test('renders what is in deploy/kubernetes; node scripts/manifests.mjs writes it anew', () => {
    const rendered = renderManifests(helm)
    expect(readdirSync(pathOf('kubernetes')).sort()).toEqual([...rendered.keys(), 'kustomization.yaml'].sort())
    for (const [name, text] of rendered) expect(read(`kubernetes/${name}`), name).toBe(text)
  })

  test('has a ServiceMonitor for each tier that serves where it is asked for, and then no annotations', () => {
    const text = renderChart(
      helm,
      'sluice',
      ...everything,
      '--set',
      'monitor.enabled=true,monitor.labels.release=prometheus',
    )
    const monitors = manifestsIn(text).filter(({ kind }) => kind === 'ServiceMonitor')
    expect(monitors.map(({ metadata }) => metadata.name).sort()).toEqual([
      'sluice',
      'sluice-collect',
      'sluice-proxy',
      'sluice-work',
    ])
    for (const { metadata } of monitors) expect(metadata.labels).toMatchObject({ release: 'prometheus' })
    expect(text).not.toContain('prometheus.io/scrape')
  })

  test('two releases in one namespace do not share pods', () => {
    const text = renderChart(helm, 'second')
    expect(text).not.toMatch(/instance: sluice|^ {2}name: sluice/m)
  })

  test('has the tiers that are rendered', () => {
    expect(Object.keys(parse(read('helm/values.yaml')).tiers)).toEqual(tiers)
  })

  test('has the version of the packages', () => {
    const { version } = JSON.parse(read('../packages/server/package.json'))
    const chart = parse(read('helm/Chart.yaml'))
    expect([chart.version, chart.appVersion]).toEqual([version, version])
    expect(parse(read('helm/values.yaml')).image).toMatch(new RegExp(`:${version}$`))
  })
})

describe('the manifests for Kubernetes', () => {
  const all = tiers.flatMap((tier) => manifestsIn(read(`kubernetes/${tier}.yaml`)))
  const ofKind = (kind: string): Manifest[] => all.filter((each) => each.kind === kind)
  const deployments = ofKind('Deployment')
  const pods = [...deployments, ...ofKind('CronJob')].map(({ spec }) => (spec.jobTemplate?.spec ?? spec).template.spec)

  test('run without root rights, on a root that cannot be written, with bounded memory', () => {
    expect(pods).toHaveLength(tiers.length)
    for (const { securityContext, automountServiceAccountToken, containers } of pods) {
      expect({ securityContext, automountServiceAccountToken }).toMatchObject({
        securityContext: { runAsNonRoot: true },
        automountServiceAccountToken: false,
      })
      expect(containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect(containers[0].resources).toMatchObject({
        requests: { cpu: expect.anything() },
        limits: { memory: expect.anything() },
      })
    }
  })

  test('a pod sees only the secrets that it reads', () => {
    for (const { containers, volumes } of pods) {
      const words = JSON.stringify([containers[0].args, containers[0].env])
      const { items } = volumes.find(({ name }: { name: string }) => name === 'secrets').secret
      for (const { key } of items) expect(words).toContain(`/run/secrets/sluice/${key}`)
    }
  })

  test('each tier that serves has probes, an autoscaler, a disruption budget and a network policy of its own', () => {
    for (const { metadata, spec } of deployments) {
      const [container] = spec.template.spec.containers
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
        expect(container[probe].httpGet.port).toBe('http')
      // A number here would undo what the autoscaler did whenever the deployment is applied.
      expect(spec).not.toHaveProperty('replicas')
      const named = (kind: string) => ofKind(kind).find((each) => each.metadata.name === metadata.name)!
      expect(named('HorizontalPodAutoscaler').spec.scaleTargetRef.name).toBe(metadata.name)
      for (const selector of [
        spec.selector,
        named('PodDisruptionBudget').spec.selector,
        named('NetworkPolicy').spec.podSelector,
      ])
        expect(selector.matchLabels).toEqual(spec.template.metadata.labels)
      expect(named('Service').spec.selector).toEqual(spec.template.metadata.labels)
    }
  })

  test('a changed policy reaches running pods: the ConfigMap is mounted as a folder, under a name that stays', () => {
    for (const { containers, volumes } of pods) {
      const mount = containers[0].volumeMounts.find(({ name }: { name: string }) => name === 'files')
      expect(mount).toEqual({ name: 'files', mountPath: '/etc/sluice', readOnly: true })
      expect(volumes).toContainEqual({ name: 'files', configMap: { name: 'sluice' } })
    }
    expect(read('kubernetes/kustomization.yaml')).not.toContain('configMapGenerator')
  })

  test('every file is named in the kustomization', () => {
    const kustomization = read('kubernetes/kustomization.yaml')
    for (const tier of tiers) expect(kustomization).toContain(`- ${tier}.yaml`)
  })

  const kubectl = spawnSync('kubectl', ['kustomize', pathOf('kubernetes')], { encoding: 'utf8' })
  test.skipIf(kubectl.error)('kustomize renders the daemon (needs kubectl)', () => {
    expect(kubectl.stderr).toBe('')
    const kinds = manifestsIn(kubectl.stdout).map(({ kind }) => kind)
    expect([...new Set(kinds)].sort()).toEqual([
      'ConfigMap',
      'Deployment',
      'HorizontalPodAutoscaler',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
    ])
  })
})
