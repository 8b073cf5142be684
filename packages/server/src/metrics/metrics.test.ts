import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { limiterMetricTable } from '../../../sluice/src/limiter/metrics.ts'
import { send, startDaemon } from '../testing/started.ts'
import { daemonMetricTable } from './daemon-metrics.ts'

const root = new URL('../../../../', import.meta.url)
const file = (path: string): string => fileURLToPath(new URL(path, root))
const table = { ...limiterMetricTable, ...daemonMetricTable }

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

  test('the alert rules are valid and fire when they should', () => {
    expect(promtool(['check', 'rules', file('deploy/prometheus/sluice.rules.yaml')])).toBe('')
    expect(promtool(['test', 'rules', file('deploy/prometheus/sluice.rules.test.yaml')])).toBe('')
  })
})
