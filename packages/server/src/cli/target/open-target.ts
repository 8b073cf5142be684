import { wrongUse } from '../cli-error.ts'
import type { Input } from '../command.ts'
import { daemonTarget } from './daemon-target.ts'
import type { Target } from './target.ts'

/** A daemon, unless `--redis` or `--policy` stands on the command line: then the store itself. */
export async function openTarget(input: Input, options: { needsStore?: boolean } = {}): Promise<Target> {
  const direct = input.given('redis') || input.given('policy')
  if (direct && input.given('url'))
    throw wrongUse('give either --url, for a daemon, or --redis and --policy, for the store itself')
  if (!direct) return daemonTarget(input)
  const { directTarget } = await import('./direct-target.ts')
  return directTarget(input, options.needsStore === true)
}
