import type { Cluster, Redis } from 'ioredis'

const key = 'ingestion:pages'

/** A part of what the vendor has, as its queries name it. */
export interface Page {
  readonly offset: number
  readonly limit: number
}

/** Pages that wait to be fetched; scheduler and workers share it. In production this is your message broker. */
export function pageQueue(redis: Redis | Cluster) {
  return {
    add: (pages: readonly Page[]): Promise<unknown> => redis.rpush(key, ...pages.map((page) => JSON.stringify(page))),
    /** The next page; undefined when none comes within a second. */
    async next(): Promise<Page | undefined> {
      const found = await redis.blpop(key, 1)
      return found === null ? undefined : (JSON.parse(found[1]) as Page)
    },
    /** A page that could not be fetched is tried again, after all others. */
    giveBack: (page: Page): Promise<unknown> => redis.rpush(key, JSON.stringify(page)),
  }
}
