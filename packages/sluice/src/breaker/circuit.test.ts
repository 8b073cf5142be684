import { expect, test } from 'vitest'
import { Circuit, type CircuitOptions } from './circuit.ts'
import { failuresInARow, slowCallRate } from './strategy.ts'

const open = (circuit: Circuit, atMs = 0): void => {
  for (let i = 0; i < 5; i++) circuit.failed(circuit.enter(atMs)!, atMs)
}
const made = (options: Partial<CircuitOptions> = {}): { circuit: Circuit; states: string[] } => {
  const states: string[] = []
  const onChange = (state: string): void => void states.push(state)
  return {
    states,
    circuit: new Circuit({ strategy: failuresInARow(5), cooldownMs: () => 250, onChange, ...options }),
  }
}

test('opens after five failures in a row, not after five with a success between', () => {
  const { circuit } = made()
  for (let i = 0; i < 20; i++) {
    for (let f = 0; f < 4; f++) circuit.failed(circuit.enter(i)!, i)
    circuit.succeeded(circuit.enter(i)!)
  }
  expect(circuit.state).toBe('closed')
  open(circuit)
  expect(circuit.state).toBe('open')
})

test('admits nothing while open, and reports for how long', () => {
  const { circuit } = made()
  open(circuit, 1000)
  expect([1000, 1001, 1249.9].map((ms) => circuit.enter(ms))).toEqual([undefined, undefined, undefined])
  expect([1000, 1100, 1250, 2000].map((ms) => circuit.retryAfterMs(ms))).toEqual([250, 150, 0, 0])
})

test('admits one probe out of a thousand callers after the cooldown', () => {
  const { circuit } = made()
  open(circuit)
  const passes = Array.from({ length: 1000 }, () => circuit.enter(250)).filter((pass) => pass !== undefined)
  expect(passes).toHaveLength(1)
  expect(circuit.state).toBe('half-open')
})

test('closes when the probe succeeds, and opens for another cooldown when it fails', () => {
  const { circuit, states } = made()
  open(circuit)
  circuit.failed(circuit.enter(250)!, 300)
  expect(circuit.enter(549)).toBeUndefined()
  circuit.succeeded(circuit.enter(550)!)
  expect(circuit.enter(551)).toBeDefined()
  expect(states).toEqual(['open', 'half-open', 'open', 'half-open', 'closed'])
})

test('with three probes admits three at most, and closes only once all three have succeeded', () => {
  const { circuit } = made({ probes: 3 })
  open(circuit)
  const [a, b, c, ...more] = Array.from({ length: 10 }, () => circuit.enter(250))
  expect(more.every((pass) => pass === undefined)).toBe(true)
  circuit.succeeded(a!)
  circuit.succeeded(b!)
  expect(circuit.state).toBe('half-open')
  expect(circuit.enter(251)).toBeUndefined()
  circuit.succeeded(c!)
  expect(circuit.state).toBe('closed')
})

test('with three probes one that fails opens it, and the others come too late', () => {
  const { circuit } = made({ probes: 3 })
  open(circuit)
  const [a, b, c] = [circuit.enter(250)!, circuit.enter(250)!, circuit.enter(250)!]
  expect(circuit.succeeded(a)).toBe(true)
  expect(circuit.failed(b, 260)).toBe(true)
  expect(circuit.succeeded(c)).toBe(false)
  expect(circuit.state).toBe('open')
})

test('calls from before it opened neither close it nor admit a second probe', () => {
  const { circuit } = made()
  const early = circuit.enter(0)!
  open(circuit)
  expect(circuit.succeeded(early)).toBe(false)
  expect(circuit.state).toBe('open')
  const probe = circuit.enter(250)!
  for (let i = 0; i < 100; i++) expect(circuit.failed(early, 260)).toBe(false)
  expect(circuit.state).toBe('half-open')
  expect(circuit.enter(520)).toBeUndefined()
  circuit.succeeded(probe)
  expect(circuit.state).toBe('closed')
  expect(circuit.failed(early, 600)).toBe(false)
})

test('a probe that never settles has failed at its deadline, and its late result does not count', () => {
  const { circuit, states } = made({ probeMs: 1000 })
  open(circuit)
  const lost = circuit.enter(250)!
  expect(circuit.enter(1249)).toBeUndefined()
  expect(circuit.state).toBe('half-open')
  expect(circuit.enter(1250)).toBeUndefined()
  expect(circuit.state).toBe('open')
  const next = circuit.enter(1500)!
  expect(circuit.succeeded(lost)).toBe(false)
  circuit.succeeded(next)
  expect(states).toEqual(['open', 'half-open', 'open', 'half-open', 'closed'])
})

test('a lost probe that is noticed late does not cost another cooldown', () => {
  const { circuit } = made({ probeMs: 1000 })
  open(circuit)
  circuit.enter(250)
  expect(circuit.enter(60_000)).toBeDefined()
})

test('a cancelled probe decides nothing and makes room for another', () => {
  const { circuit } = made()
  open(circuit)
  const probe = circuit.enter(250)!
  expect(circuit.cancelled(probe)).toBe(true)
  expect(circuit.state).toBe('half-open')
  expect(circuit.cancelled(probe)).toBe(false)
  circuit.succeeded(circuit.enter(251)!)
  expect(circuit.state).toBe('closed')
})

test('a probe that succeeds slowly fails when slow calls count', () => {
  const strategy = slowCallRate({ slowMs: 100, ratio: 1, windowMs: 1000, minCalls: 1 })
  const { circuit } = made({ strategy })
  circuit.succeeded(circuit.enter(0)!, 0, 100)
  expect(circuit.state).toBe('open')
  circuit.succeeded(circuit.enter(250)!, 400, 150)
  expect(circuit.state).toBe('open')
  circuit.succeeded(circuit.enter(650)!, 700, 50)
  expect(circuit.state).toBe('closed')
})

test('the cooldown depends on how often in a row it opened', () => {
  const openings: number[] = []
  const { circuit } = made({ strategy: failuresInARow(1), cooldownMs: (n) => openings.push(n) && 1 })
  for (let ms = 0; ms < 6; ms += 2) circuit.failed(circuit.enter(ms)!, ms)
  circuit.succeeded(circuit.enter(8)!)
  circuit.failed(circuit.enter(9)!, 9)
  expect(openings).toEqual([1, 2, 3, 1])
})

test('a clock that steps back keeps it open for no longer than one cooldown', () => {
  const { circuit } = made()
  open(circuit, 1_000_000)
  expect(circuit.enter(5)).toBeDefined()
})

test('a listener that uses the breaker does not get a second probe admitted', () => {
  const passes: (number | undefined)[] = []
  const circuit: Circuit = new Circuit({
    strategy: failuresInARow(1),
    cooldownMs: () => 10,
    onChange: () => passes.push(circuit.enter(10)),
  })
  circuit.failed(circuit.enter(0)!, 0)
  passes.push(circuit.enter(10))
  expect(passes.filter((pass) => pass !== undefined)).toHaveLength(1)
})
