import { inspectEntry, taggedCodec } from 'sluice/cache'
import { inspectUpstream } from 'sluice/egress'
import { redisFrom } from '../../../config/redis-from.ts'
import { outOfReach, wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { openStore } from '../../target/open-store.ts'
import { duration } from '../../terminal/numbers.ts'
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
  const target = redisFrom(input)
  if (target === undefined) throw wrongUse('the state of upstreams is in Redis: --redis redis://HOST')
  const redis = await openStore(target)
  try {
    const found = await inspectUpstream(redis.handle, service, name)
    if (found === undefined)
      throw outOfReach(`there is no upstream ${safe(name)} of ${safe(service)} in this Redis`, {
        hint: 'it is made by the first call',
      })
    terminal.result({ key, ...found }, () => {
      const { style } = terminal
      const state =
        found.recoveringMs > 0
          ? `recovering: nothing is granted for ${duration(found.recoveringMs)}`
          : `${found.waiting} waiting`
      terminal.line(`${style.strong(safe(key))}  ${state}  ${style.faint(`by ${redis.description}`)}`)
      const taken = Object.entries(found.limits).map(([limit, { used, amount, nextFreeMs, pacedMs }]) => [
        safe(limit),
        `${used}${amount === undefined ? '' : ` of ${amount}`} taken`,
        ...(used > 0 && nextFreeMs > 0 ? [`next free in ${duration(nextFreeMs)}`] : ['']),
        ...(pacedMs > 0 ? [`paced for ${duration(pacedMs)}`] : []),
      ])
      const paused = Object.entries(found.pauses).map(([scope, ms]) => [
        `pause ${safe(scope || 'of all')}`,
        `${duration(ms)} left`,
      ])
      const widened =
        found.widenedMs > 0 ? [['arrival', `widened to ${found.widenedMs} ms for ${duration(found.widenedForMs)}`]] : []
      const queue = found.queue.map(({ caller, tenant, waiting, sinceMs }) => [
        `waiting ${safe([caller, tenant].filter((name) => name !== '').join(' / ') || 'without a tenant')}`,
        `${waiting} since ${duration(sinceMs)}`,
      ])
      const processes = Object.entries(found.processes).map(([id, { seenMs, inFlight }]) => [
        `process ${safe(id)}`,
        `seen ${duration(seenMs)} ago`,
        ...(inFlight > 0 ? [`${inFlight} in flight`] : []),
      ])
      terminal.lines(columns([...taken, ...paused, ...widened, ...queue, ...processes]), '  ')
    })
    return 0
  } finally {
    await redis.close()
  }
}

/** Shows what Redis has under a key of a cache, such as `#cache/shop/default/price/XLM`. */
export async function inspectCache(text: string, input: Input, terminal: Terminal): Promise<ExitCode> {
  const target = redisFrom(input)
  if (target === undefined) throw wrongUse('a key of a cache is read from Redis itself: --redis redis://HOST')
  const redis = await openStore(target)
  try {
    const { value, ...entry } = await inspectEntry(redis.handle, text)
    const isRead = entry.state === 'fresh' || entry.state === 'stale'
    // As the cache writes it: JSON has no BigInt, Date or Map.
    const written = isRead ? taggedCodec.encode(value).slice(1) : ''
    terminal.result({ ...entry, value: written }, () => {
      const { style } = terminal
      const freshFor = entry.freshMs === Infinity ? 'for ever' : `for ${duration(entry.freshMs)}`
      terminal.line(`${style.strong(safe(text))}  ${style.faint(`by ${redis.description}`)}`)
      const rows = [
        ['cache', `${entry.cache} of ${entry.service}`],
        ['key', [entry.name, ...entry.parts].join(', ')],
        ['state', entry.state === 'fresh' ? `fresh ${freshFor}` : entry.state],
        ...(isRead
          ? [
              ['age', duration(entry.ageMs)],
              ['bytes', String(entry.bytes)],
              ['tags', entry.tags.join(', ')],
              ['stamp', `${entry.generation ?? 'none'} ${entry.sequence}`],
              ['value', written.length > 200 ? `${written.slice(0, 197)}...` : written],
            ]
          : []),
      ]
      terminal.lines(columns(rows.map((row) => row.map(safe))), '  ')
    })
    return 0
  } finally {
    await redis.close()
  }
}
