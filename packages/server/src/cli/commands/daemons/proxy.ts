import { createEgress, type Egress, egressMetrics } from 'sluice/egress'
import { prometheusMetrics } from 'sluice/prometheus'
import { credentialsFrom, knownVariables } from '../../../config/config.ts'
import { followedOf, redisFrom } from '../../../config/redis-from.ts'
import { readTls } from '../../../config/secrets/tls.ts'
import { proxyTokens } from '../../../config/secrets/tokens.ts'
import { unknownVariables } from '../../../config/variables.ts'
import { followFiles } from '../../../connections/file-backed.ts'
import { openShared } from '../../../connections/open-shared.ts'
import type { RedisTarget } from '../../../connections/redis-target.ts'
import { logEgress } from '../../../log/log-events.ts'
import { processRegistry } from '../../../metrics/daemon-metrics.ts'
import { closeAll, type Opened } from '../../../opened.ts'
import { openSource } from '../../../policy/place/open-source.ts'
import { parsePolicyPlace } from '../../../policy/place/policy-place.ts'
import { warningsFor } from '../../../proxy/open-proxy.ts'
import { startProxy } from '../../../proxy/proxy.ts'
import { checkRedis } from '../../../start-checks.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { openLog } from '../../serve/human-log.ts'
import { listenError } from '../../serve/listen-error.ts'
import { endSignal, reloadOnHangup } from '../../serve/signals.ts'

/** Runs the proxy until it receives SIGTERM or SIGINT. */
export async function proxyCommand(input: Input, terminal: Terminal): Promise<ExitCode> {
  const { env, live, json, style } = terminal
  const host = input.text('host') ?? '127.0.0.1'
  const port = input.port('port') ?? 8460
  const drainMs = input.duration('drain', 0) ?? 30_000
  const maxBodyBytes = input.whole('max-body', 0) ?? 100 * 1024 * 1024
  const credentials = credentialsFrom(input, 'credential', env)
  const tokens = proxyTokens(env)
  const tls = readTls(input)
  const target = redisFrom(input)
  const unknown = unknownVariables(env, knownVariables)
  const log = openLog(input.text('log-level'), terminal)
  // Signals are heard from before it listens: one that comes while it starts ends it as soon as it has started.
  const ended = endSignal(() => process.exit(130))
  const opened: Opened = []
  try {
    const { egress, store, trouble } = await openEgress(input, target, opened)
    const registry = processRegistry()
    const metrics = prometheusMetrics(registry, [egressMetrics(egress)])
    opened.push(() => metrics.close(), logEgress(egress, log))
    const page = { contentType: registry.contentType, text: () => registry.metrics() }
    const config = { host, port, tokens, credentials, maxBodyBytes, drainMs, tls, metrics: page }
    const proxy = await startProxy(egress, config, log).catch((error: NodeJS.ErrnoException) => {
      throw listenError(error, { host, port }) ?? error
    })
    opened.push(() => proxy.close())
    const followed = [tokens, credentials, tls, ...followedOf(target)].filter((each) => each !== undefined)
    const files = followFiles(followed, log)
    opened.push(() => files.stop())
    reloadOnHangup(terminal, files)
    const upstreams = egress.upstreams.map(({ name }) => name)
    const where = `${style.good('proxy')} at ${style.strong(proxy.url)} for ${upstreams.join(', ') || 'no upstream'}, counting in ${store}`
    if (json) terminal.result({ url: proxy.url, upstreams, store }, () => {})
    else if (live) terminal.line(where)
    else terminal.note(where)
    for (const warning of [...unknown, ...trouble, ...warningsFor(tokens, credentials, egress)]) log.warn(warning)
    const signal = await ended
    log.info({ signal, open: proxy.open, drainMs }, 'answering what was accepted; a second signal ends at once')
    await proxy.close()
    await closeAll(opened)
    log.info('ended')
    return 0
  } finally {
    await closeAll(opened)
  }
}

/** Opens the policy, and the Redis that replicas share; what it does is reported there for `sluice top`. */
async function openEgress(
  input: Input,
  target: RedisTarget | undefined,
  opened: Opened,
): Promise<{ egress: Egress; store: 'redis' | 'memory'; trouble: readonly string[] }> {
  const place = parsePolicyPlace(input.text('policy') ?? 'sluice.yaml', undefined, '--policy')
  const { source, close } = await openSource(place)
  opened.push(close)
  const replicas = input.whole('replicas', 1)
  const trouble = await checkRedis({ redis: target, withoutRedis: 'decide' })
  const redis = (await openShared(target, {}, opened))?.redis
  const egress = await createEgress({
    policy: source,
    ...(redis && { redis }),
    ...(replicas === undefined ? {} : { replicas }),
  })
  opened.push(() => egress.close({ within: 500 }))
  return { egress, store: redis ? 'redis' : 'memory', trouble: trouble === undefined ? [] : [trouble] }
}
