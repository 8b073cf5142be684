import type { Cluster, Redis } from 'ioredis'

const key = 'ingestion:pages'

/** Pages that wait to be fetched; scheduler and workers share it. In production this is your message broker. */
export function pageQueue(redis: Redis | Cluster) {
  return {
    add: (pages: readonly number[]): Promise<unknown> => redis.rpush(key, ...pages.map(String)),
    /** The next page; undefined when none comes within a second. */
    async next(): Promise<number | undefined> {
      const found = await redis.blpop(key, 1)
      return found === null ? undefined : Number(found[1])
    },
    /** A page that could not be fetched is tried again, after all others. */
    giveBack: (page: number): Promise<unknown> => redis.rpush(key, String(page)),
  }
}
