/** What `watch` of the MongoDB driver returns, as far as it is needed. */
export interface MongoChangeStream {
  on(event: 'change' | 'resumeTokenChanged' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  close(): Promise<unknown>
}

/** As much of a `Collection` of the MongoDB driver as following a policy needs. */
export interface MongoCollection {
  readonly collectionName: string
  findOne(filter: object, options?: object): Promise<unknown>
  replaceOne(filter: object, replacement: object, options?: object): Promise<unknown>
  watch(pipeline?: object[], options?: object): MongoChangeStream
}

/** As much of a `Collection` of the MongoDB driver as keeping versions needs. */
export interface MongoHistory {
  insertOne(document: object): Promise<unknown>
  find(filter: object): {
    sort(order: Record<string, 1 | -1>): { limit(count: number): { toArray(): Promise<unknown[]> } }
  }
}

/**
 * When a document was last changed, in milliseconds; undefined when it does not say so in a way that can be understood.
 */
export function revisionOf(document: unknown): number | undefined {
  const stated = (document as { last_updated?: unknown } | null)?.last_updated
  const ms = stated instanceof Date ? stated.getTime() : typeof stated === 'string' ? Date.parse(stated) : stated
  return typeof ms === 'number' && Number.isFinite(ms) ? ms : undefined
}
