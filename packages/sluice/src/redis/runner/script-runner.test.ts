import { expect, test } from 'vitest'
import { StoreError } from '../../core/errors.ts'
import { Deadlines } from '../../runtime/deadlines.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import type { RedisArgument, RedisConnection } from '../connection/connection.ts'
import { nodeFacts } from '../scripts.gen.ts'
import { ScriptRunner } from './script-runner.ts'

const socketTimeoutMs = 600

/** A connection to a server whose clock is the test's, and that answers plain commands only when it is told to. */
function setUp() {
  const clock = virtualClock()
  const deadlinesUs: number[] = []
  const pending: { reply: (value: unknown) => void; fail: (error: Error) => void; words: readonly RedisArgument[] }[] =
    []
  const connection: RedisConnection = {
    isCluster: false,
    generation: 1,
    attempted: Promise.resolve(),
    async run(_script, _keys, [deadlineUs]) {
      const nowUs = clock.now()
      deadlinesUs.push(Number(deadlineUs))
      const bytes = Buffer.alloc(10, 0xcb)
      bytes[0] = nowUs > Number(deadlineUs) ? 1 : 0
      bytes.writeDoubleBE(nowUs, 2)
      return bytes
    },
    load: () => Promise.reject(new Error('not needed')),
    command: (words) => new Promise((reply, fail) => pending.push({ reply, fail, words })),
    nodeOf: () => '',
    close: async () => undefined,
  }
  const runner = new ScriptRunner(connection, new Deadlines(clock), clock, socketTimeoutMs)
  const ended: unknown[] = []
  const read = (withinMs: number, ...keys: string[]): void =>
    runner.read({
      keys,
      deadlineMs: clock.monotonic() + withinMs,
      received: (values, nowUs) => ended.push({ values, nowUs }),
      fail: (error) => ended.push(error),
    })
  const script = (withinMs: number): Promise<void> =>
    new Promise((resolve, reject) =>
      runner.run({
        script: nodeFacts,
        keys: ['k'],
        deadlineMs: clock.monotonic() + withinMs,
        args: () => [],
        settle: () => resolve(),
        fail: reject,
      }),
    )
  return { clock, pending, ended, deadlinesUs, read, script }
}

test('a read is one TIME and one MGET, and ends with the bytes and the time', async () => {
  const { pending, ended, read, script, deadlinesUs, clock } = setUp()
  read(1000, 'a', 'b')
  await clock.advance(1)
  expect(pending.map(({ words }) => words)).toEqual([['TIME'], ['MGET', 'a', 'b']])
  pending[0]!.reply(['1700000000', '000250'])
  pending[1]!.reply([Buffer.from('x'), null])
  await clock.advance(1)
  expect(ended).toEqual([{ values: [Buffer.from('x'), null], nowUs: 1_700_000_000_000_250 }])
  // The next script has a deadline by the clock of the server.
  script(1000).catch(() => undefined)
  await clock.advance(1)
  expect(deadlinesUs[0]).toBeGreaterThan(1_699_999_999_000_000)
})

test('a read fails at its deadline, once, and what comes later is dropped', async () => {
  const { pending, ended, read, clock } = setUp()
  read(100, 'a')
  await clock.advance(100)
  expect(ended).toMatchObject([{ kind: 'timeout' }])
  pending[0]!.reply(['1700000000', '0'])
  pending[1]!.reply([null])
  await clock.advance(100)
  expect(ended).toHaveLength(1)
})

test('a process that was late gives the server as much longer', async () => {
  const { pending, ended, read, clock } = setUp()
  read(100, 'a')
  await clock.advance(1)
  clock.tick(300)
  await clock.advance(1)
  expect(ended).toEqual([])
  pending[0]!.reply(['1700000000', '0'])
  pending[1]!.reply([null])
  await clock.advance(1)
  expect(ended).toMatchObject([{ values: [null] }])

  read(100, 'a')
  await clock.advance(1)
  clock.tick(300)
  await clock.advance(98)
  expect(ended).toMatchObject([{ values: [null] }, { kind: 'timeout' }])
})

test('a read fails with its connection, and when the reply is not one', async () => {
  const { pending, ended, read, clock } = setUp()
  read(1000, 'a')
  read(1000, 'a')
  await clock.advance(1)
  for (const { fail } of pending.slice(0, 2)) fail(new Error('Connection is closed.'))
  pending[2]!.reply(['1700000000', '0'])
  pending[3]!.reply('QUEUED')
  await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(1)
  expect(ended).toHaveLength(2)
  for (const error of ended) expect(error).toBeInstanceOf(StoreError)
})

test('a script that follows a read without an answer must not run after the connection was given up', async () => {
  const { read, script, deadlinesUs, clock } = setUp()
  await script(1000)
  const readUs = clock.now()
  read(5000, 'a')
  await clock.advance(500)
  await script(5000)
  expect(deadlinesUs.at(-1)).toBeLessThanOrEqual(readUs + socketTimeoutMs * 1000)
})
