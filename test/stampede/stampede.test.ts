import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type RedisServer, startRedis } from 'sluice/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundled } from '../bundled.ts'

const processes = 4
const callers = 2500
let server: RedisServer
let children: ChildProcess[]

beforeAll(async () => {
  server = await startRedis()
  const child = await bundled(join(import.meta.dirname, 'child.ts'))
  const args = [String(server.port), String(callers)]
  children = Array.from({ length: processes }, () => fork(child, args, { execArgv: [] }))
  await Promise.all(children.map((child) => once(child, 'message')))
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await server.stop()
})

const rush = (round: number, dies: boolean): Promise<(string[] | 'died')[]> =>
  Promise.all(
    children.map(async (child) => {
      const answer = Promise.race([once(child, 'message'), once(child, 'exit')])
      child.send({ round, dies })
      const [message] = (await answer) as [{ distinct: string[] } | null]
      return message?.distinct ?? 'died'
    }),
  )

test('10,000 callers in 4 processes cause one fetch, again and again', { timeout: 120_000 }, async () => {
  for (let round = 1; round <= 3; round++) {
    expect(await rush(round, false)).toEqual(Array(processes).fill([`value ${round}`]))
    expect(await server.cli('GET', `fetches:${round}`)).toBe('1')
  }
})

test('they do so with the default deadlines while all processors are busy', { timeout: 120_000 }, async () => {
  const busy = availableParallelism()
  const burners = Array.from({ length: busy }, () => spawn(process.execPath, ['-e', 'for (;;) Math.sqrt(2)']))
  try {
    for (let round = 4; round <= 8; round++) {
      expect(await rush(round, false)).toEqual(Array(processes).fill([`value ${round}`]))
      expect(await server.cli('GET', `fetches:${round}`)).toBe('1')
    }
  } finally {
    for (const burner of burners) burner.kill('SIGKILL')
  }
})

test('if the process that fetches is killed, one other takes over and all others get its value', {
  timeout: 60_000,
}, async () => {
  const answers = await rush(9, true)
  expect(answers.filter((answer) => answer === 'died')).toHaveLength(1)
  expect(answers.filter((answer) => answer !== 'died')).toEqual(Array(processes - 1).fill(['value 9']))
  expect(await server.cli('GET', 'fetches:9')).toBe('2')
})
