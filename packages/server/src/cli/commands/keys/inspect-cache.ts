import { inspectEntry, taggedCodec } from 'sluice/cache'
import { redisFrom } from '../../../config/redis-from.ts'
import { wrongUse } from '../../cli-error.ts'
import type { Input } from '../../command.ts'
import type { ExitCode } from '../../exit-codes.ts'
import { openStore } from '../../target/open-store.ts'
import { duration } from '../../terminal/numbers.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { columns, safe } from '../../terminal/text.ts'

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
      for (const line of columns(rows.map((row) => row.map(safe)))) terminal.line(`  ${line}`)
    })
    return 0
  } finally {
    await redis.close()
  }
}
