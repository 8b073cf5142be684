import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Breaker } from './breaker.ts'

const open = (breaker: Breaker, atMs = 0): void => {
  for (let i = 0; i < 5; i++) breaker.failed(breaker.enter(atMs)!, atMs)
}
const made = (): { breaker: Breaker; states: string[] } => {
  const states: string[] = []
  return { states, breaker: new Breaker({ failures: 5, cooldownMs: 250, onChange: (state) => states.push(state) }) }
}

test('opens after five failures in a row, not after five with a success between', () => {
  const { breaker } = made()
  for (let i = 0; i < 20; i++) {
    for (let f = 0; f < 4; f++) breaker.failed(breaker.enter(i)!, i)
    breaker.succeeded(breaker.enter(i)!)
  }
  expect(breaker.state).toBe('closed')
  open(breaker)
  expect(breaker.state).toBe('open')
})

test('lets nothing out while open', () => {
  const { breaker } = made()
  open(breaker, 1000)
  expect([1000, 1001, 1249.9].map((ms) => breaker.enter(ms))).toEqual([undefined, undefined, undefined])
})

test('lets one probe out of a thousand callers after the cooldown', () => {
  const { breaker } = made()
  open(breaker)
  const passes = Array.from({ length: 1000 }, () => breaker.enter(250)).filter((pass) => pass !== undefined)
  expect(passes).toHaveLength(1)
  expect(breaker.state).toBe('half-open')
})

test('closes when the probe succeeds, and opens for another cooldown when it fails', () => {
  const { breaker, states } = made()
  open(breaker)
  breaker.failed(breaker.enter(250)!, 300)
  expect(breaker.enter(549)).toBeUndefined()
  breaker.succeeded(breaker.enter(550)!)
  expect(breaker.enter(551)).toBeDefined()
  expect(states).toEqual(['open', 'half-open', 'open', 'half-open', 'closed'])
})

test('calls that were out before it opened neither close it nor let out a second probe', () => {
  const { breaker } = made()
  const early = breaker.enter(0)!
  open(breaker)
  breaker.succeeded(early)
  expect(breaker.state).toBe('open')
  const probe = breaker.enter(250)!
  for (let i = 0; i < 100; i++) breaker.failed(early, 260)
  expect(breaker.state).toBe('half-open')
  expect(breaker.enter(520)).toBeUndefined()
  breaker.succeeded(probe)
  expect(breaker.state).toBe('closed')
})

test('a probe that never settles makes way for another', () => {
  const breaker = new Breaker({ failures: 1, cooldownMs: 10, probeMs: 1000 })
  breaker.failed(breaker.enter(0)!, 0)
  const lost = breaker.enter(10)!
  expect(breaker.enter(1009)).toBeUndefined()
  const next = breaker.enter(1010)!
  breaker.failed(lost, 1011)
  expect(breaker.state).toBe('half-open')
  breaker.succeeded(next)
  expect(breaker.state).toBe('closed')
})

test('a clock that steps back keeps it open for no longer than one cooldown', () => {
  const { breaker } = made()
  open(breaker, 1_000_000)
  expect(breaker.enter(5)).toBeDefined()
})

test('never has two probes out at once, whatever order outcomes come in', () => {
  const step = fc.record({ waitMs: fc.nat(400), does: fc.constantFrom('enter', 'succeed', 'fail'), which: fc.nat(20) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { breaker } = made()
      let nowMs = 0
      const out: { pass: number; probe: boolean }[] = []
      for (const { waitMs, does, which } of steps) {
        nowMs += waitMs
        if (does === 'enter') {
          const pass = breaker.enter(nowMs)
          if (pass !== undefined) out.push({ pass, probe: breaker.state === 'half-open' })
          expect(out.filter(({ probe }) => probe).length).toBeLessThanOrEqual(1)
        } else if (out.length > 0) {
          const { pass } = out.splice(which % out.length, 1)[0]!
          if (does === 'succeed') breaker.succeeded(pass)
          else breaker.failed(pass, nowMs)
        }
      }
    }),
  )
})
