import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compilePolicy } from 'sluice/policy'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { knownVariables, resolveConfig } from './config/config.ts'
import { examplePolicy } from './policy/place/example-policy.ts'

const folder = new URL('../../../deploy/', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, folder), 'utf8')
const variables = new Set(knownVariables)

describe('what is ready to deploy', () => {
  test('the policies make sense', () => {
    for (const policy of [read('docker/config/sluice.yaml'), examplePolicy])
      expect(compilePolicy(policy, { env: {} }).rules.length).toBeGreaterThan(0)
  })

  test('the image sets only variables that are read', () => {
    for (const [name] of read('docker/Dockerfile').matchAll(/\bSLUICE_\w+/g)) expect(variables).toContain(name)
  })

  test('the first start writes tokens that the services of the compose file take, and only once', () => {
    const home = mkdtempSync(join(tmpdir(), 'sluice-compose-'))
    copyFileSync(new URL('docker/first-start.sh', folder), join(home, 'first-start.sh'))
    const start = () => spawnSync('sh', ['first-start.sh'], { cwd: home, encoding: 'utf8' })
    expect(start().stdout).toContain('http://127.0.0.1:8441')
    const written = readFileSync(join(home, '.env'), 'utf8')
    start()
    expect(readFileSync(join(home, '.env'), 'utf8')).toBe(written)
    rmSync(home, { recursive: true })
    const tokens = Object.fromEntries(
      [...written.matchAll(/^(\w+)=(\w{64})$/gm)].map(([, name, token]) => [name, token]),
    )
    const { services } = parseAllDocuments(read('docker/compose.yaml'), { merge: true })[0]!.toJS() as {
      services: Record<string, { environment?: Record<string, string>; ports?: string[] }>
    }
    const wanted = JSON.stringify(services).matchAll(/\$\{(\w+):\?/g)
    expect(new Set([...wanted].map(([, name]) => name))).toEqual(new Set(Object.keys(tokens)))
    const { SLUICE_POLICY: _, ...daemon } = { ...services.daemon!.environment, ...tokens }
    const { port, adminPort, grpcPort } = resolveConfig({}, daemon)
    expect(services.daemon!.ports).toEqual([port, adminPort, grpcPort].map((each) => `127.0.0.1:${each}:${each}`))
  })

  // Each says nothing when all is well. What wants more than a file is left out: docker compose, terraform validate.
  const place = (path: string): string => fileURLToPath(new URL(path, folder))
  const tools: readonly (readonly [tool: string, claim: string, ...args: string[]])[] = [
    ['terraform', 'the modules are formatted', 'fmt', '-check', '-recursive', place('terraform')],
    ['systemd-analyze', 'the unit is one that systemd takes', 'verify', place('systemd/sluice.service')],
    ['hadolint', 'the recipe of the image has no known mistake', place('docker/Dockerfile')],
  ]
  for (const [tool, claim, ...args] of tools) {
    const { PATH } = process.env
    const { error, status, stdout, stderr } = spawnSync(tool, args, { encoding: 'utf8', env: { PATH } })
    test.skipIf(error)(`${claim} (needs ${tool})`, () => {
      expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: '' })
    })
  }

  test('the image copies only files that are there, and that are sent to Docker', () => {
    const root = new URL('../', folder)
    const ignored = readFileSync(new URL('.dockerignore', root), 'utf8').split('\n')
    for (const [, file = ''] of read('docker/Dockerfile').matchAll(/^COPY (?!--from)(\S+) /gm)) {
      expect(existsSync(new URL(file, root)), file).toBe(true)
      expect(ignored).not.toContain(file.split('/')[0])
    }
  })

  test('systemd never gives up on a daemon whose Redis comes up late', () => {
    const [unit = '', service = ''] = read('systemd/sluice.service').split('[Service]')
    expect(service).toContain('--require-redis')
    expect(service).toMatch(/^Restart=on-failure\nRestartSec=\d+$/m)
    expect(unit).toMatch(/^StartLimitIntervalSec=0$/m)
  })

  test('every alert leads to its section of the runbook, and every section is of an alert', () => {
    const [{ groups }] = parseAllDocuments(read('prometheus/sluice.rules.yaml')).map((each) => each.toJS()) as [
      { groups: { rules: { alert: string; annotations: { runbook_url: string } }[] }[] },
    ]
    const alerts = groups.flatMap(({ rules }) => rules)
    const [page = ''] = read('../docs/operate/runbook.md').split('## Without an alert')
    const sections = [...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name!)
    expect(sections.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted())
    for (const { alert, annotations } of alerts)
      expect(annotations.runbook_url).toBe(`docs/operate/runbook.md#${alert.toLowerCase()}`)
  })
})
