/** Under it a handle keeps what only the parts of Sluice use. Shared by all copies of the package in a process. */
export const inside: unique symbol = Symbol.for('sluice.redis') as never

/**
 * A Redis that the parts of a process share. Made by `openRedis` of `sluice/redis`.
 *
 * It has no types of Node, so that a limiter in process needs none.
 */
export interface RedisHandle extends AsyncDisposable {
  /** Whose state it is: for parts that have no policy, which names its service itself. */
  readonly service: string
  /** The start of every key of every part. */
  readonly prefix: string
  /**
   * For its opener, at the end. No part can be made with it any more; sockets are closed when no part uses them.
   */
  close(): Promise<void>
  readonly [inside]: object
}
