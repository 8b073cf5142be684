import { randomFillSync, randomUUID } from 'node:crypto'

/** What identifies a call in logs and at the vendor. */
export interface CallIds {
  readonly requestId: string
  readonly traceparent: string
  readonly traceId: string
}

/** Keeps the ids of a request where they are well formed, and creates those that are missing. */
export function callIds(requestId: string | undefined, traceparent: string | undefined): CallIds {
  const id = requestId !== undefined && /^[\w.:+/=-]{1,128}$/.test(requestId) ? requestId : randomUUID()
  const known = traceparent === undefined ? null : /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(traceparent)
  if (known !== null && !/^0+$/.test(known[1]!) && !/^0+$/.test(known[2]!))
    return { requestId: id, traceparent: traceparent!, traceId: known[1]! }
  const traceId = randomHex(16)
  return { requestId: id, traceparent: `00-${traceId}-${randomHex(8)}-01`, traceId }
}

const pool = Buffer.alloc(4096)
let taken = pool.length

/** Random bytes as hex. Reading many at a time from the system is far cheaper than a few for every call. */
function randomHex(bytes: number): string {
  if (taken + bytes > pool.length) {
    randomFillSync(pool)
    taken = 0
  }
  taken += bytes
  return pool.toString('hex', taken - bytes, taken)
}
