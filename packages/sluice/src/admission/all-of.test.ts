import { expect, test } from 'vitest'
import { allOf } from './all-of.ts'
import type { Guard } from './guard.ts'
import { type GuardOutcome, passed, type ResponseEnd, refusal } from './outcome.ts'

const view = { method: 'GET', path: '/', headers: {} }
const end: ResponseEnd = { status: 200, bytes: 1, completed: true }
const ends: [string, ResponseEnd][] = []

const allowing = (name: string): Guard<unknown, string> => ({
  decide: async (): Promise<GuardOutcome<string>> => ({
    decision: name,
    headers: [['X-By', name]],
    denial: undefined,
    finish: (seen) => ends.push([name, seen]),
  }),
})
const full = { type: 'about:blank', title: 'Full', status: 503 }
const refusing: Guard<unknown> = { decide: async () => refusal(full, [['Retry-After', '1']], undefined) }
const silent: Guard<unknown> = { decide: async () => passed }

test('all that pass contribute their headers, and hear of the end of the response', async () => {
  ends.length = 0
  const outcome = await allOf(silent, allowing('a'), allowing('b'), silent).decide(view, undefined)
  expect(outcome).toMatchObject({ decision: 'b', denial: undefined })
  expect(outcome.headers).toEqual([
    ['X-By', 'a'],
    ['X-By', 'b'],
  ])
  outcome.finish!(end)
  expect(ends).toEqual([
    ['a', end],
    ['b', end],
  ])
})

test('the first that refuses ends it, and those that passed hear of it', async () => {
  ends.length = 0
  const outcome = await allOf(allowing('a'), refusing, allowing('b')).decide(view, undefined)
  expect(outcome.denial).toMatchObject({ status: 503, body: JSON.stringify(full) })
  expect(outcome.denial!.headers.map(([name]) => name)).toEqual(['Retry-After', 'Content-Type'])
  expect(ends).toEqual([['a', { status: 503, bytes: 0, completed: true }]])
})

test('a guard that throws leaves nothing of the others behind', async () => {
  ends.length = 0
  const broken: Guard<unknown> = { decide: () => Promise.reject(new Error('broken')) }
  await expect(allOf(allowing('a'), broken).decide(view, undefined)).rejects.toThrow('broken')
  expect(ends).toEqual([['a', { status: 500, bytes: 0, completed: true }]])
})

test('a guard that throws at the end does not keep the others from hearing of it', async () => {
  ends.length = 0
  const broken: Guard<unknown> = {
    decide: async () => ({
      ...passed,
      finish: () => {
        throw new Error('broken')
      },
    }),
  }
  const outcome = await allOf(broken, allowing('a')).decide(view, undefined)
  expect(() => outcome.finish!(end)).toThrow('broken')
  expect(ends).toEqual([['a', end]])
})

test('bodies are read when one of them reads them', () => {
  expect(allOf(silent).readsBody).toBe(false)
  expect(allOf(silent, { ...silent, readsBody: true }).readsBody).toBe(true)
})
