/** Everything that a body brings; undefined as soon as that is more than `maxBytes`. */
export async function readBounded(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = body?.getReader()
  for (let next = await reader?.read(); next?.done === false; next = await reader!.read()) {
    length += next.value.byteLength
    if (length > maxBytes) {
      // Not awaited: of two branches of a stream, one is cancelled only when the other is.
      void reader!.cancel().catch(ignore)
      return undefined
    }
    chunks.push(next.value)
  }
  return joined(chunks, length)
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

function ignore(): void {}
