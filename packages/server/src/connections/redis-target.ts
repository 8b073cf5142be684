import type { FileBacked } from './file-backed.ts'
import { hasSplitPassword, hideUrl, percentEncode } from './hide-secrets.ts'
import { wrongOption } from './option-error.ts'

/** A Redis to connect to: one server, a Sentinel group or a Cluster. */
export type RedisTarget = {
  /** The URL without what may be secret in it. */
  readonly description: string
  readonly live?: Live
} & (
  | { readonly kind: 'single'; readonly url: string }
  | { readonly kind: 'sentinel'; readonly hosts: readonly Host[]; readonly master: string; readonly access: Access }
  | { readonly kind: 'cluster'; readonly hosts: readonly Host[]; readonly access: Access }
)

/** How Redis is spoken to over TLS: an authority beside the known ones, and a certificate to show. */
export interface RedisTls {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** What may change while the process runs: each new connection takes what is in the files then. */
export interface Live {
  /** User and password of this URL count; the rest of it only at the start. */
  readonly url?: FileBacked<string>
  readonly tls?: FileBacked<RedisTls>
}

export interface Host {
  readonly host: string
  readonly port: number
}

export interface Access {
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
  const description = hideUrl(url)
  if (kind === undefined) return { kind: 'single', description, url }
  const { username, password } = loginIn(userInfo)
  const hosts = hostText!.split(',').map((text) => parseHost(text, kind === 'sentinel' ? 26379 : 6379, option))
  const sentinelPassword = new URLSearchParams(query).get('sentinelPassword') ?? undefined
  const access = { tls: tls === 's', db: Number(steps[1] ?? 0), username, password, sentinelPassword }
  if (kind === 'cluster') return { kind, description, hosts, access }
  const [master] = steps
  if (!master)
    throw wrongOption(
      option,
      hideUrl(url),
      'name the master group after the hosts: redis+sentinel://host:26379/mymaster',
    )
  return { kind: 'sentinel', description, hosts, master, access }
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

/** User and password in a URL. */
export function loginOf(url: string): Pick<Access, 'username' | 'password'> {
  return loginIn(shape.exec(url)?.[3])
}

function loginIn(userInfo = ''): Pick<Access, 'username' | 'password'> {
  const [username, password] = userInfo.split(/:(.*)/s, 2).map((part) => decodeURIComponent(part) || undefined)
  return { username, password }
}
