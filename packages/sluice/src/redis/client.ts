import { invalidOption } from '../core/errors.ts'

/**
 * The members by which an ioredis client (5 and 6; `Redis` or `Cluster`) is recognised. Sluice only uses duplicates of
 * it.
 */
export interface IoredisClient {
  readonly isCluster?: boolean
  readonly status: string
  duplicate(...args: never[]): unknown
}

/**
 * The member by which a node-redis client (5 and 6; `createClient`, `createSentinel` or `createCluster`) is recognised.
 */
export interface NodeRedisClient {
  withTypeMapping(mapping: never): unknown
}

/** A client of Redis or Valkey that a service already has. */
export type RedisClient = IoredisClient | NodeRedisClient

/** Which of the two packages a client comes from. `option` names it in the error for anything else. */
export function recogniseClient(
  client: unknown,
  option: string,
): { readonly ioredis: IoredisClient } | { readonly nodeRedis: NodeRedisClient } {
  const given = client as { evalshaBuffer?: unknown; withTypeMapping?: unknown; duplicate?: unknown } | null | undefined
  if (typeof given?.evalshaBuffer === 'function') {
    if (typeof given.duplicate !== 'function')
      throw invalidOption(option, client, 'it is a pipeline or a transaction; pass the client that it was made of')
    return { ioredis: client as IoredisClient }
  }
  if (typeof given?.withTypeMapping === 'function') {
    // That of createSentinel of node-redis 5.
    if (typeof given.duplicate !== 'function')
      throw invalidOption(option, client, 'it cannot be duplicated; use createSentinel of node-redis 6, or ioredis')
    return { nodeRedis: client as NodeRedisClient }
  }
  throw invalidOption(option, client, 'pass a client of ioredis (new Redis(...)) or of node-redis (createClient(...))')
}
