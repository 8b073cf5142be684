import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { MetricTable } from '../packages/sluice/src/core/observe/metrics.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/**
 * Every table of metrics in the packages: what files named `metrics.ts` or `*-metrics.ts` export as `...MetricTable`.
 */
async function tables(): Promise<readonly { readonly name: string; readonly table: MetricTable }[]> {
  const entries = readdirSync(join(root, 'packages'), { recursive: true, encoding: 'utf8' })
  const files = entries.filter((file) => /^[^/]+\/src\/.*(\/|-)metrics\.ts$/.test(file)).sort()
  const modules = await Promise.all(files.map((file) => import(pathToFileURL(join(root, 'packages', file)).href)))
  return modules.flatMap((module: Record<string, MetricTable>) =>
    Object.entries(module).flatMap(([name, table]) => (name.endsWith('MetricTable') ? [{ name, table }] : [])),
  )
}

const found = await tables()
const all = Object.assign({}, ...found.map(({ table }) => table)) as MetricTable
const rows = [...read('docs/metrics.md').matchAll(/^\| `(sluice_\w+)` \| (\w+) \| (.*?) \| (.*) \|$/gm)].map(
  ([, name = '', type, labels, help]) => ({ name, type, labels, help }),
)

describe('the tables of metrics', () => {
  test('are found', () => {
    expect(found.map(({ name }) => name)).toEqual(expect.arrayContaining(['limiterMetricTable', 'daemonMetricTable']))
  })

  test.each(found)('$name is in docs/metrics.md, word for word and in one piece', ({ table }) => {
    const expected = Object.entries(table).map(([name, { type, labels, help }]) => ({
      name,
      type,
      labels: labels.map((label) => `\`${label}\``).join(', '),
      help,
    }))
    const start = rows.findIndex(({ name }) => name === expected[0]?.name)
    expect(rows.slice(Math.max(start, 0), start + expected.length)).toEqual(expected)
  })

  test('docs/metrics.md has no metric that no table has', () => {
    expect(rows.map(({ name }) => name).filter((name) => !Object.hasOwn(all, name))).toEqual([])
  })

  test.each(Object.entries(all))('%s follows the naming rules of Prometheus', (name, { type, buckets, labels }) => {
    expect(name).toMatch(/^sluice_[a-z_]+$/)
    expect(name.endsWith('_total')).toBe(type === 'counter')
    expect(buckets !== undefined).toBe(type === 'histogram')
    expect(labels.filter((label) => !/^[a-z_]+$/.test(label))).toEqual([])
  })

  test('alert rules and board name only metrics that exist, and every alert has a test', () => {
    const rules = read('deploy/prometheus/sluice.rules.yaml')
    const tried = read('deploy/prometheus/sluice.rules.test.yaml')
    for (const [, name] of rules.matchAll(/alert: (\w+)/g)) expect(tried).toContain(name)
    for (const [name] of `${rules}${read('deploy/grafana/sluice.json')}`.matchAll(/\bsluice_\w+/g))
      expect(Object.keys(all)).toContain(name.replace(/_(bucket|sum|count)$/, ''))
  })
})
