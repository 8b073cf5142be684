import { wrongUse } from '../cli-error.ts'
import type { Input } from '../command.ts'
import { daemonTarget } from './daemon-target.ts'
import type { Target } from './target.ts'

/** Uses what the options name, and closes it. */
export function onTarget<Result>(input: Input, use: (target: Target) => Promise<Result>): Promise<Result> {
  return onAny(input, false, use)
}

/** The same where counters are needed: an empty store in memory will not do. */
export function onStore<Result>(input: Input, use: (target: Target) => Promise<Result>): Promise<Result> {
  return onAny(input, true, use)
}

/** A daemon, unless `--redis` or `--policy` stands on the command line: then the store itself. */
async function onAny<Result>(
  input: Input,
  needsStore: boolean,
  use: (target: Target) => Promise<Result>,
): Promise<Result> {
  const direct = input.given('redis') || input.given('policy')
  if (direct && input.given('url'))
    throw wrongUse('give either --url, for a daemon, or --redis and --policy, for the store itself')
  if (!direct) return use(daemonTarget(input))
  const target = await (await import('./direct-target.ts')).directTarget(input, needsStore)
  try {
    return await use(target)
  } finally {
    await target.close()
  }
}
