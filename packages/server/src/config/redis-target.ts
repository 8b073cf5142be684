import { Cluster, Redis } from 'ioredis'
import { wrongOption } from './option-error.ts'
import { hasSplitPassword, hideUrl, percentEncode } from './secrets/hide-secrets.ts'

/** A Redis to connect to: one server, a Sentinel group or a Cluster. */
export type RedisTarget =
  | { readonly kind: 'single'; readonly url: string }
  | { readonly kind: 'sentinel'; readonly hosts: readonly Host[]; readonly master: string; readonly access: Access }
  | { readonly kind: 'cluster'; readonly hosts: readonly Host[]; readonly access: Access }

export interface Host {
  readonly host: string
  readonly port: number
}

interface Access {
  readonly tls: boolean
  readonly db: number
  readonly username: string | undefined
  readonly password: string | undefined
  readonly sentinelPassword: string | undefined
}

const remedy =
  'use redis://host:6379/0, rediss://, redis+sentinel://host:26379,host:26379/master or redis+cluster://host:6379,host:6379'
const shape = /^redis(s?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/?#]*)@)?([^/?#]+)(\/[^?#]*)?(?:\?([^#]*))?$/

/**
 * Reads a Redis URL, also of Sentinel (`redis+sentinel://h1:p,h2:p/master/db`) and Cluster
 * (`redis+cluster://h1:p,h2:p`).
 *
 * @example parseRedisUrl('redis+sentinel://10.0.0.1,10.0.0.2/mymaster', '--redis')
 */
export function parseRedisUrl(url: string, option: string): RedisTarget {
  const found = shape.exec(url)
  if (!found || !isReadable(url, found))
    throw wrongOption(option, hideUrl(url), url.includes('@') ? `${remedy}; ${percentEncode}` : remedy)
  const [, tls, kind, userInfo, hostText, path = '', query] = found
  const steps = path.split('/').filter(Boolean).map(decodeURIComponent)
  checkDatabase(kind, kind === 'sentinel' ? steps.slice(1) : steps, url, option)
  if (kind === undefined) return { kind: 'single', url }
  const [username, password] = (userInfo ?? '').split(/:(.*)/s, 2).map((part) => decodeURIComponent(part) || undefined)
  const hosts = hostText!.split(',').map((text) => parseHost(text, kind === 'sentinel' ? 26379 : 6379, option))
  const sentinelPassword = new URLSearchParams(query).get('sentinelPassword') ?? undefined
  const access = { tls: tls === 's', db: Number(steps[1] ?? 0), username, password, sentinelPassword }
  if (kind === 'cluster') return { kind, hosts, access }
  const [master] = steps
  if (!master)
    throw wrongOption(
      option,
      hideUrl(url),
      'name the master group after the hosts: redis+sentinel://host:26379/mymaster',
    )
  return { kind: 'sentinel', hosts, master, access }
}

/** Refuses what the driver would take for database 0. */
function checkDatabase(kind: string | undefined, steps: readonly string[], url: string, option: string): void {
  const [database = '0'] = steps
  if (steps.length > 1 || !/^\d{1,9}$/.test(database))
    throw wrongOption(
      option,
      hideUrl(url),
      `a database is a number, such as ${kind === 'sentinel' ? '/master/0' : '/0'}`,
    )
  if (kind === 'cluster' && Number(database) !== 0)
    throw wrongOption(option, hideUrl(url), 'a cluster has only database 0; use --redis-prefix to keep services apart')
}

/** Whether the driver can read the URL of a single server. */
function isReadable(url: string, [, , kind]: readonly (string | undefined)[]): boolean {
  return !hasSplitPassword(url) && (kind !== undefined || URL.canParse(url))
}

function parseHost(text: string, defaultPort: number, option: string): Host {
  const found = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i.exec(text)
  if (!found) throw wrongOption(option, text, remedy)
  return { host: found[1]!.replace(/^\[|\]$/g, ''), port: Number(found[2] ?? defaultPort) }
}

/** Makes a client that connects when it is first used. */
export function redisClient(target: RedisTarget): Redis | Cluster {
  // A client that is never used still must not end the process when the server goes away.
  const client = open(target)
  client.on('error', () => {})
  return client
}

function open(target: RedisTarget): Redis | Cluster {
  if (target.kind === 'single') return new Redis(target.url, { lazyConnect: true })
  const { tls, db, username, password, sentinelPassword } = target.access
  const login = { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) }
  const secure = tls ? { tls: {} } : {}
  if (target.kind === 'cluster')
    return new Cluster([...target.hosts], { lazyConnect: true, redisOptions: { ...login, ...secure } })
  return new Redis({
    lazyConnect: true,
    sentinels: [...target.hosts],
    name: target.master,
    db,
    ...login,
    ...secure,
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
  })
}
