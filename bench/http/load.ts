import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findBinary } from '../../packages/sluice/src/testing/servers/binary.ts'

/** The answers of a round of load. */
export interface Answered {
  readonly requests: number
  /** Of these, those that were not 2xx. */
  readonly refused: number
}

export const connections = 64
const wrk = findBinary('wrk')
const own = fileURLToPath(new URL('./load-child.ts', import.meta.url))

/** The load generator that is available here. */
export const loader: string = wrk === undefined ? 'a Node process' : 'wrk'

/** Sends requests as fast as they are answered, from another process. */
export async function load(url: string, ms: number): Promise<Answered> {
  return wrk === undefined ? loadByNode(url, ms) : loadByWrk(wrk, url, ms)
}

async function loadByWrk(binary: string, url: string, ms: number): Promise<Answered> {
  const args = ['-t1', `-c${connections}`, `-d${Math.max(1, Math.round(ms / 1000))}s`, url]
  const { stdout } = await promisify(execFile)(binary, args)
  const number = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1] ?? 0)
  return { requests: number(/(\d+) requests in/), refused: number(/Non-2xx or 3xx responses: (\d+)/) }
}

async function loadByNode(url: string, ms: number): Promise<Answered> {
  const child = fork(own, [url, `${ms}`, `${connections}`], { execArgv: process.execArgv })
  const [answered] = (await once(child, 'message')) as [Answered]
  await once(child, 'exit')
  return answered
}
