import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { compilePolicy } from 'sluice/policy'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { knownVariables, resolveConfig } from './config/config.ts'
import { examplePolicy } from './config/policy/example-policy.ts'

const folder = new URL('../../../deploy/', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, folder), 'utf8')
const variables = new Set(knownVariables)

describe('what is ready to deploy', () => {
  test('the policies make sense', () => {
    for (const policy of [read('kubernetes/sluice.yaml'), examplePolicy])
      expect(compilePolicy(policy, { env: {} }).rules.length).toBeGreaterThan(0)
  })

  test('sets only variables that the daemon reads', () => {
    const [deployment] = parseAllDocuments(read('kubernetes/deployment.yaml')).map((each) => each.toJS())
    const { env, ports } = deployment.spec.template.spec.containers[0] as {
      env: { name: string; value?: string }[]
      ports: { containerPort: number }[]
    }
    for (const { name } of env) expect(variables).toContain(name)
    const given = Object.fromEntries(
      env.filter(({ value }) => value !== undefined).map(({ name, value }) => [name, value]),
    )
    const config = resolveConfig({}, { ...given, REDIS_URL: 'redis://redis' })
    expect(ports.map(({ containerPort }) => containerPort)).toEqual([config.port, config.grpcPort])
    for (const [name] of read('docker/Dockerfile').matchAll(/\bSLUICE_\w+/g)) expect(variables).toContain(name)
  })

  test('the image copies only files that are there, and that are sent to Docker', () => {
    const root = new URL('../', folder)
    const ignored = readFileSync(new URL('.dockerignore', root), 'utf8').split('\n')
    for (const [, file = ''] of read('docker/Dockerfile').matchAll(/^COPY (?!--from)(\S+) /gm)) {
      expect(existsSync(new URL(file, root)), file).toBe(true)
      expect(ignored).not.toContain(file.split('/')[0])
    }
  })

  test('applying the deployment again does not undo what the autoscaler did', () => {
    expect(parseAllDocuments(read('kubernetes/deployment.yaml'))[0]!.toJS().spec).not.toHaveProperty('replicas')
  })

  test('systemd never gives up on a daemon whose Redis comes up late', () => {
    const [unit = '', service = ''] = read('systemd/sluice.service').split('[Service]')
    expect(service).toContain('--require-redis')
    expect(service).toMatch(/^Restart=on-failure\nRestartSec=\d+$/m)
    expect(unit).toMatch(/^StartLimitIntervalSec=0$/m)
  })

  test('every file of the folder for Kubernetes is in its kustomization, and parses', () => {
    const kustomization = read('kubernetes/kustomization.yaml')
    for (const file of readdirSync(new URL('kubernetes', folder))) {
      expect(parseAllDocuments(read(`kubernetes/${file}`)).flatMap(({ errors }) => errors)).toEqual([])
      if (file !== 'kustomization.yaml') expect(kustomization).toContain(file)
    }
  })

  const kubectl = spawnSync('kubectl', ['kustomize', fileURLToPath(new URL('kubernetes', folder))], {
    encoding: 'utf8',
  })
  test.skipIf(kubectl.error)('kustomize renders it (needs kubectl)', () => {
    expect(kubectl.stderr).toBe('')
    const kinds = parseAllDocuments(kubectl.stdout).map((each) => (each.toJS() as { kind: string }).kind)
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
