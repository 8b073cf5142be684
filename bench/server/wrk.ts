import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findBinary } from '../../packages/sluice/src/testing/servers/binary.ts'

const wrk = findBinary('wrk')
const script = fileURLToPath(new URL('./post.lua', import.meta.url))

/** Whether wrk is installed. */
export const hasWrk: boolean = wrk !== undefined

export interface PostLoad {
  readonly connections: number
  readonly seconds: number
  /** How many decisions one request contains. */
  readonly size: number
}

export interface Posted {
  readonly requests: number
  readonly perSecond: number
  /** Answers that were not 2xx, and connections that failed, timed out or were cut. */
  readonly errors: number
}

/** On a busy machine answers come late; an error is one that does not come. */
const timeout = '30s'

/** Posts checks as fast as they are answered. */
export async function post(url: string, { connections, seconds, size }: PostLoad): Promise<Posted> {
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', timeout, '-s', script, url, '--', String(size)]
  const { stdout } = await promisify(execFile)(wrk!, args)
  const numbers = (pattern: RegExp): number[] => (pattern.exec(stdout) ?? []).slice(1).map(Number)
  const [requests = 0] = numbers(/(\d+) requests in/)
  const [perSecond = 0] = numbers(/Requests\/sec:\s+([\d.]+)/)
  const failed = [
    ...numbers(/Non-2xx or 3xx responses: (\d+)/),
    ...numbers(/Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/),
  ]
  if (requests === 0) throw new Error(`wrk got no answer from ${url}:\n${stdout}`)
  return { requests, perSecond, errors: failed.reduce((sum, each) => sum + each, 0) }
}
