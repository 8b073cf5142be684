import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { metricTable } from 'sluice/prometheus'
import { describe, expect, test } from 'vitest'
import { send, startDaemon } from '../testing/started.ts'
import { daemonMetricTable } from './daemon-metrics.ts'

const root = new URL('../../../../', import.meta.url)
const file = (path: string): string => fileURLToPath(new URL(path, root))
const table = { ...metricTable, ...daemonMetricTable }

function promtool(args: readonly string[], input = ''): string {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  if (error) throw new Error('promtool is needed (Debian: apt-get install prometheus)', { cause: error })
  return status === 0 ? '' : stdout + stderr
}

describe('metrics', () => {
  test('the page passes promtool, has every metric of the table, and no other of ours', async () => {
    const daemon = await startDaemon()
    await send(`${daemon.url}/v1/check`, 'POST', { key: 'a', rule: 'per-user' })
    const text = (await send(`${daemon.url}/metrics`, 'GET')).body as string
    await daemon.close()
    expect(promtool(['check', 'metrics'], text)).toBe('')
    const types = [...text.matchAll(/^# TYPE (sluice_\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`)
    expect(types.sort()).toEqual(
      Object.entries(table)
        .map(([name, { type }]) => `${name} ${type}`)
        .sort(),
    )
  })

  test('the documentation has the same table', () => {
    const page = readFileSync(file('docs/metrics.md'), 'utf8')
    const rows = [...page.matchAll(/^\| `(sluice_\w+)` \| (\w+) \| (.*?) \| (.*) \|$/gm)].map(
      ([, name, type, labels, help]) => [name, type, labels, help],
    )
    expect(rows).toEqual(
      Object.entries(table).map(([name, { type, labels, help }]) => [
        name,
        type,
        labels.map((label) => `\`${label}\``).join(', '),
        help,
      ]),
    )
  })

  test('the alert rules are valid and fire when they should', () => {
    expect(promtool(['check', 'rules', file('deploy/prometheus/sluice.rules.yaml')])).toBe('')
    expect(promtool(['test', 'rules', file('deploy/prometheus/sluice.rules.test.yaml')])).toBe('')
  })

  test('every alert is tried, and rules and board name only metrics that exist', () => {
    const rules = readFileSync(file('deploy/prometheus/sluice.rules.yaml'), 'utf8')
    const tried = readFileSync(file('deploy/prometheus/sluice.rules.test.yaml'), 'utf8')
    for (const [, name] of rules.matchAll(/alert: (\w+)/g)) expect(tried).toContain(name)
    const board = readFileSync(file('deploy/grafana/sluice.json'), 'utf8')
    for (const [name] of `${rules}${board}`.matchAll(/\bsluice_\w+/g))
      expect(Object.keys(table)).toContain(name.replace(/_(bucket|sum|count)$/, ''))
  })
})
