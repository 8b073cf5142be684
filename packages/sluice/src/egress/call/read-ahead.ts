/** Bodies up to this size are read before a call is booked: a caller that stalls then holds nothing of the vendor. */
export const mostAheadBytes: number = 1024 * 1024

/** Whether a body comes in pieces over time. */
export function comesInPieces(body: unknown): body is AsyncIterable<Uint8Array | string> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body && !(body instanceof Blob)
}

/** The whole body, or if that is too large, one that continues after what was read of it. */
export async function readAhead(body: AsyncIterable<Uint8Array | string>): Promise<Buffer | AsyncIterable<Uint8Array>> {
  const iterator = body[Symbol.asyncIterator]()
  const chunks: Buffer[] = []
  let bytes = 0
  while (bytes <= mostAheadBytes) {
    const next = await iterator.next()
    if (next.done) return Buffer.concat(chunks)
    const chunk = Buffer.from(next.value as Uint8Array)
    bytes += chunk.length
    chunks.push(chunk)
  }
  return (async function* continued() {
    try {
      yield* chunks.splice(0)
      yield* { [Symbol.asyncIterator]: () => iterator } as AsyncIterable<Uint8Array>
    } finally {
      await iterator.return?.()
    }
  })()
}
