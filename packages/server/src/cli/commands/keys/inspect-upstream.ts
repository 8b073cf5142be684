import { inspectUpstream } from 'sluice/egress'
import { outOfReach, wrongUse } from '../../cli-error.ts'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import { openStore } from '../../target/open-store.ts'
import { duration } from '../../terminal/numbers.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { columns, safe } from '../../terminal/text.ts'

/** What full keys of upstreams begin with. */
export const upstreamNamespace = '#upstream/'

/**
 * Shows the state of an upstream in Redis: what is taken of its limits, how many calls wait, and which processes share
 * it.
 */
export async function showUpstream(key: string, input: Input, terminal: Terminal): Promise<ExitCode> {
  const [, service = '', name = '', ...rest] = key.split('/')
  if (service === '' || name === '' || rest.length > 0)
    throw wrongUse(`KEY is ${JSON.stringify(key)}; write #upstream/SERVICE/NAME`)
  const url = input.text('redis')
  if (url === undefined) throw wrongUse('the state of upstreams is in Redis: --redis redis://HOST')
  const redis = await openStore(url)
  try {
    const found = await inspectUpstream(redis.handle, service, name)
    if (found === undefined)
      throw outOfReach(`there is no upstream ${safe(name)} of ${safe(service)} in this Redis`, {
        hint: 'it is made by the first call',
      })
    terminal.result({ key, ...found }, () => {
      const { style } = terminal
      const state = found.recovering ? 'recovering: nothing is granted' : `${found.waiting} waiting`
      terminal.line(`${style.strong(safe(key))}  ${state}  ${style.faint(`by ${redis.description}`)}`)
      const taken = Object.entries(found.limits).map(([limit, units]) => [safe(limit), `${units} taken`])
      const paused = Object.entries(found.pauses).map(([scope, ms]) => [
        `pause ${safe(scope || 'of all')}`,
        `${duration(ms)} left`,
      ])
      const processes = Object.entries(found.processes).map(([id, ms]) => [
        `process ${safe(id)}`,
        `seen ${duration(ms)} ago`,
      ])
      for (const line of columns([...taken, ...paused, ...processes])) terminal.line(`  ${line}`)
    })
    return 0
  } finally {
    await redis.close()
  }
}
