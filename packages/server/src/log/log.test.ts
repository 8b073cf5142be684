import { createLimiter } from 'sluice'
import { expect, test } from 'vitest'
import { createLog } from './create-log.ts'
import { logDriverLines } from './driver-lines.ts'
import { logEvents } from './log-events.ts'

function captured(): { lines: Record<string, unknown>[]; write(text: string): void } {
  const lines: Record<string, unknown>[] = []
  return { lines, write: (text) => lines.push(JSON.parse(text)) }
}

test('secrets never reach the log', () => {
  const out = captured()
  const log = createLog('info', out)
  log.info(
    {
      password: 'p1',
      headers: { authorization: 'Bearer p2', 'x-api-key': 'p3' },
      config: { redis: { password: 'p4' } },
    },
    'at redis://u:p5@h',
  )
  log.error({ err: new Error('cannot reach postgres://u:p6@h/db') }, 'failed')
  expect(JSON.stringify(out.lines)).not.toMatch(/p[1-6]/)
  expect(out.lines).toHaveLength(2)
})

test('what drivers print themselves is in the log', () => {
  const out = captured()
  const restore = logDriverLines(createLog('info', out))
  try {
    console.warn('Skipping the ready check: %s', 'no INFO')
    console.error('E No address added out of total 1 resolved')
  } finally {
    restore()
  }
  expect(out.lines).toMatchObject([
    { level: 'warn', source: 'driver', msg: 'Skipping the ready check: no INFO' },
    { level: 'error', source: 'driver', msg: 'E No address added out of total 1 resolved' },
  ])
})

test('denials are sampled, and those left out are counted', async () => {
  const out = captured()
  const limiter = await createLimiter({ policy: { service: 's', rules: [{ name: 'r', limits: { rpd: 1 } }] } })
  let nowMs = 0
  logEvents(limiter, createLog('info', out), () => nowMs)
  for (let i = 0; i < 26; i++) await limiter.take('a')
  expect(out.lines).toHaveLength(10)
  expect(out.lines[0]).toMatchObject({ msg: 'denied', rule: 'r', reason: 'quota', subjects: ['s/r/a'] })
  nowMs = 1000
  await limiter.take('a')
  expect(out.lines.at(-1)).toMatchObject({ suppressed: 15 })
  await limiter.close()
})

test('lines have the name of their level and the time of RFC 3339', () => {
  const out = captured()
  createLog('info', out).warn('careful')
  expect(out.lines[0]).toMatchObject({ level: 'warn', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) })
})

test('an outage is two lines about the breaker, however often it tries again', async () => {
  const out = captured()
  const events = new Map<string, (event: never) => void>()
  const limiter = { on: (name: string, listener: (event: never) => void) => events.set(name, listener) }
  logEvents(limiter as never, createLog('info', out))
  for (const state of ['open', 'half-open', 'open', 'half-open', 'open', 'half-open', 'closed'])
    events.get('breakerChanged')!({ state } as never)
  expect(out.lines.map(({ level, state }) => [level, state])).toEqual([
    ['warn', 'open'],
    ['info', 'closed'],
  ])
})
