import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test, vi } from 'vitest'
import { turns } from './turn.ts'

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

test('what is decided in a turn is handed on together at its end, in order', async () => {
  const present = turns<number>()
  const told: number[] = []
  const tell = (value: number) => told.push(value)
  const turn = present()
  turn.resolve(tell, 1)
  await Promise.resolve()
  expect(present()).toBe(turn)
  present().resolve(tell, 2)
  expect(told).toEqual([])
  await nextTurn()
  expect(told).toEqual([1, 2])
  expect(present()).not.toBe(turn)
})

test('what is answered after its turn is handed on at once', async () => {
  const turn = turns<number>()()
  await nextTurn()
  const told: number[] = []
  turn.resolve((value) => told.push(value), 1)
  expect(told).toEqual([1])
})

test('each request goes on in its own async context', async () => {
  const present = turns<string>()
  const context = new AsyncLocalStorage<string>()
  const ask = (name: string) =>
    context.run(name, async () => {
      await new Promise<string>((resolve) => present().resolve(resolve, name))
      return context.getStore()
    })
  expect(await Promise.all([ask('a'), ask('b'), ask('c')])).toEqual(['a', 'b', 'c'])
})

test('fake timers do not stop requests', async () => {
  vi.useFakeTimers()
  try {
    const turn = turns<string>()()
    expect(await new Promise<string>((resolve) => turn.resolve(resolve, 'through'))).toBe('through')
  } finally {
    vi.useRealTimers()
  }
})
