/**
 * The fields of a reply to INFO or CLUSTER INFO, by name.
 *
 * @example parseInfo('# Server\r\nredis_version:7.0.15\r\n').get('redis_version') // '7.0.15'
 */
export function parseInfo(text: string): Map<string, string> {
  return new Map(
    text
      .split(/\r?\n/)
      .filter((line) => !line.startsWith('#') && line.includes(':'))
      .map((line) => line.split(/:(.*)/s, 2) as [string, string]),
  )
}

/** What Sluice needs to know of a server. */
export interface ServerFacts {
  readonly version: string
  readonly mode: string
  readonly role: string
  /** In bytes; 0 for no limit. */
  readonly maxmemory: number
  readonly evictionPolicy: string
  readonly evictedKeys: number
}

export function serverFacts(info: ReadonlyMap<string, string>): ServerFacts {
  return {
    version: info.get('valkey_version') ?? info.get('redis_version') ?? 'unknown',
    mode: info.get('redis_mode') ?? info.get('server_mode') ?? 'unknown',
    role: info.get('role') ?? 'unknown',
    maxmemory: Number(info.get('maxmemory') ?? 0),
    evictionPolicy: info.get('maxmemory_policy') ?? 'unknown',
    evictedKeys: Number(info.get('evicted_keys') ?? 0),
  }
}
