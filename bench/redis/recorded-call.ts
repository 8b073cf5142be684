import { Redis } from 'ioredis'
import { createLimiter } from 'sluice'
import { openRedis } from 'sluice/redis'
import type { Setup } from '../contenders/contender.ts'
import { benchPolicyOf } from '../contenders/sluice-policy.ts'
import { subjectNames } from '../measure/subjects.ts'

/** A script call as the Redis store sent it. */
export interface RecordedCall {
  readonly sha: string
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

interface Sent {
  readonly name: string
  readonly args: readonly unknown[]
}

/** Takes from `batch` subjects in one tick, and returns the script call that this became. */
export async function recordCall(setup: Setup, batch: number): Promise<RecordedCall> {
  const calls: RecordedCall[] = []
  const client = new Redis(setup.redisUrl)
  const duplicate = client.duplicate.bind(client)
  // The store opens its own connection by duplicating the client; what is sent there is recorded.
  client.duplicate = (options) => {
    const own = duplicate(options)
    const send = own.sendCommand.bind(own)
    own.sendCommand = (command, ...rest) => {
      const { name, args } = command as unknown as Sent
      if (name.toLowerCase() === 'evalsha') calls.push(parse(args.map(String)))
      return send(command, ...rest)
    }
    return own
  }
  const limiter = await createLimiter({ policy: benchPolicyOf(setup), redis: openRedis(client) })
  const subjects = subjectNames(batch)
  // The first call may only read the server's time. While another is in flight, all decisions of one turn are sent in
  // one call.
  await limiter.take('first')
  const other = limiter.take('other')
  await Promise.resolve()
  await Promise.all(subjects.map((subject) => limiter.take(subject)))
  await other
  await limiter.close()
  client.disconnect()
  const last = calls.at(-1)
  if (last?.keys.length !== batch)
    throw new Error(`expected one call with ${batch} keys, saw ${last?.keys.length ?? 'none'}`)
  return last
}

function parse([sha, count, ...rest]: readonly string[]): RecordedCall {
  return { sha: sha!, keys: rest.slice(0, Number(count)), args: rest.slice(Number(count)) }
}
