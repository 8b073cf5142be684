import { createEgress } from 'sluice/egress'
import { redisStore } from 'sluice/redis'
import { openPolicy, parsePolicyPlace } from '../../config/policy-place.ts'
import { parseRedisUrl, redisClient } from '../../config/redis-target.ts'
import { createLog } from '../../log/create-log.ts'
import { closeAll, type Opened } from '../../open-limiter.ts'
import { credentialsOf } from '../../proxy/credentials.ts'
import { startProxy } from '../../proxy/proxy.ts'
import { wrongUse } from '../cli-error.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Input } from '../parse.ts'
import { endSignal } from '../serve/signals.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Runs the proxy until it is told to end. */
export async function proxyCommand(input: Input, terminal: Terminal): Promise<ExitCode> {
  const { env } = terminal
  const port = Number(input.text('port') ?? 8460)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw wrongUse('--port is a number from 0 to 65535')
  const drainMs = input.whole('drain', 0) ?? 30_000
  const maxBodyBytes = input.whole('max-body', 0) ?? 100 * 1024 * 1024
  const credentials = credentialsOf(input.many('credential'), env)
  if (typeof credentials === 'string') throw wrongUse(credentials)
  const tokens = [env.INTERNAL_SERVICE_TOKEN, env.INTERNAL_SERVICE_TOKEN_NEXT].filter((token) => token)
  const ended = endSignal(() => process.exit(130))
  const opened: Opened = []
  try {
    const { source, close } = await openPolicy(
      parsePolicyPlace(input.text('policy') ?? 'sluice.yaml', undefined, '--policy'),
    )
    opened.push(close)
    const redis = input.text('redis')
    const client = redis === undefined ? undefined : redisClient(parseRedisUrl(redis, '--redis'))
    if (client) opened.push(() => client.disconnect())
    const shared = client && redisStore(client)
    if (shared) opened.push(() => shared.close())
    const egress = await createEgress({ policy: source, ...(shared ? { store: shared } : {}) })
    opened.push(() => egress.close())
    const log = createLog((input.text('log-level') ?? 'info') as never)
    const host = input.text('host') ?? '127.0.0.1'
    const proxy = await startProxy(
      egress,
      { host, port, tokens: tokens as string[], credentials, maxBodyBytes, drainMs },
      log,
    )
    const upstreams = egress.upstreams.map(({ name }) => name)
    const store = client ? 'redis' : 'memory'
    terminal.result({ url: proxy.url, upstreams, store }, () => {
      terminal.line(
        `${terminal.style.good('proxy')} at ${terminal.style.strong(proxy.url)} for ${upstreams.join(', ')}, counting in ${store}`,
      )
      if (tokens.length === 0)
        terminal.line(terminal.style.warn('! no INTERNAL_SERVICE_TOKEN: whoever can connect may call'))
    })
    await ended
    await proxy.close()
    return 0
  } finally {
    await closeAll(opened)
  }
}
