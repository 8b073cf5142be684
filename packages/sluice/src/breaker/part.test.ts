import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { processParts } from '../runtime/process-parts.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { waitFor } from '../testing/wait-for.ts'
import { createBreakers } from './breakers.ts'
import { createBreaker } from './create-breaker.ts'

const fail = () => Promise.reject(new Error('boom'))
const named = (name: string) => processParts().filter((part) => part.kind === 'breaker' && part.name === name)

test('an open breaker is ready, with a warning; a closed one is not, and refuses calls', async () => {
  const breaker = createBreaker({ name: 'model', failures: 1 })
  expect(await breaker.health()).toEqual({ ready: true, reasons: [], warnings: [] })
  await breaker.run(fail, { fallback: () => 0 })
  const warnings = ['The breaker "model" is open: its calls have failed repeatedly.']
  expect(await breaker.health()).toEqual({ ready: true, reasons: [], warnings })
  await breaker.close()
  await expect(breaker.run(() => 1, { fallback: () => 2 })).rejects.toMatchObject({
    code: 'SLUICE_CLOSED',
    message: 'The breaker "model" was closed for good; make a new one with createBreaker.',
  })
  expect(await breaker.health()).toMatchObject({ ready: false, reasons: [expect.stringContaining('closed for good')] })
})

test('closing waits for calls in flight, but not longer than it may', async () => {
  const clock = virtualClock()
  const breaker = createBreaker({ clock })
  let answer = (_: number): void => undefined
  const call = breaker.run(() => new Promise<number>((resolve) => (answer = resolve)))
  let closed = 0
  for (const within of ['1s', '5s']) void breaker.close({ within }).then(() => closed++)
  await clock.advance(999)
  expect(closed).toBe(0)
  await clock.advance(1)
  expect(closed).toBe(1)
  answer(7)
  expect(await call).toBe(7)
  await waitFor(() => closed === 2)
  await expect(breaker.close({ soon: 1 } as never)).rejects.toThrow('breaker.close.soon is 1')
})

test('a set that is closed refuses old and new keys alike', async () => {
  await using breakers = createBreakers({ name: 'models', failures: 1 })
  const former = breakers.for('a')
  await former.run(fail, { fallback: () => 0 })
  expect(await breakers.health()).toMatchObject({ ready: true, warnings: [expect.stringContaining('"a" is open')] })
  await breakers.close({ within: '1s' })
  await expect(former.run(() => 1)).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
  expect(() => breakers.for('b')).toThrow('The breakers "models" were closed for good')
  expect(await breakers.health()).toMatchObject({ ready: false })
})

test('is reported until it is closed', async () => {
  const breaker = createBreaker({ name: 'one' })
  const breakers = createBreakers({ name: 'many', maxKeys: 500 })
  for (let i = 0; i < 500; i++) breakers.for(`key ${i}`)
  expect(named('one').map((part) => part.stats())).toEqual([breaker.stats()])
  expect(named('many').map((part) => part.stats())).toEqual([breakers.stats().slice(0, 100)])
  await Promise.all([breaker.close(), breakers.close()])
  expect([...named('one'), ...named('many')]).toEqual([])
})

test('is collected with its report when nobody refers to it, though it was not closed', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let i = 0; i < 100; i++) createBreaker({ name: 'dropped' })
  await waitFor(() => {
    collect()
    return named('dropped').length === 0
  })
})
