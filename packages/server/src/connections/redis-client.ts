import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { type Access, type Host, type Live, loginOf, type RedisTarget, type RedisTls } from './redis-target.ts'

/** Makes a client that connects when it is first used. */
export function redisClient(target: RedisTarget): Redis | Cluster {
  // A client that is never used still must not end the process when the server goes away.
  const client = open(target)
  client.on('error', () => {})
  return client
}

/** One node of a cluster, asked by itself: it answers also while the cluster as a whole does not. */
export function nodeClient({ access, live }: RedisTarget & { kind: 'cluster' }, host: Host): Redis {
  const client = new Redis({ ...host, lazyConnect: true, ...nodeOptions(access, live) })
  client.on('error', () => {})
  return client
}

function nodeOptions({ tls, username, password }: Access, live: Live = {}): Login {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: liveTls(live) } : {}),
  }
}

interface Login {
  readonly username?: string
  readonly password?: string
  readonly tls?: RedisTls
}

function open(target: RedisTarget): Redis | Cluster {
  const { live = {} } = target
  if (target.kind === 'single') {
    if (target.live === undefined) return new Redis(target.url, { lazyConnect: true })
    const { options } = new Redis(target.url, { lazyConnect: true })
    return new LiveRedis({ ...options, ...(options.tls && { tls: liveTls(live) }) }, live)
  }
  const { tls, db, sentinelPassword } = target.access
  if (target.kind === 'cluster')
    return new Cluster([...target.hosts], { lazyConnect: true, redisOptions: nodeOptions(target.access, live) })
  const options: RedisOptions = {
    lazyConnect: true,
    sentinels: [...target.hosts],
    name: target.master,
    db,
    ...nodeOptions(target.access, live),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: liveTls(live) } : {}),
  }
  return new LiveRedis(options, live)
}

/** A client whose connections, and those of its duplicates, sign in with what the file of the URL says by then. */
class LiveRedis extends Redis {
  readonly #live: Live

  constructor(options: RedisOptions, live: Live) {
    super(options as never)
    this.#live = live
    const { url } = live
    if (url === undefined) return
    for (const name of ['username', 'password'] as const)
      Object.defineProperty(this.options, name, { get: () => loginOf(url.current)[name], enumerable: true })
  }

  override duplicate(override?: Partial<RedisOptions>): never {
    return new LiveRedis({ ...this.options, ...override }, this.#live) as never
  }
}

/** Options of TLS that are read from the files by each connection: ioredis copies them when it connects. */
function liveTls({ tls }: Live): RedisTls {
  if (tls === undefined) return {}
  const names = ['ca', 'cert', 'key'] as const
  return Object.defineProperties(
    {},
    Object.fromEntries(names.map((name) => [name, { get: () => tls.current[name], enumerable: true }])),
  )
}
