import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'

const mostDecoded = 1024 * 1024

/** Decodes a whole body to text, within bounds; undefined when that cannot be done. */
export function decodeBody(chunks: readonly Buffer[], encoding: string | undefined): string | undefined {
  const bytes = Buffer.concat(chunks)
  const options = { maxOutputLength: mostDecoded }
  try {
    switch (encoding?.trim().toLowerCase()) {
      case undefined:
      case '':
      case 'identity':
        return bytes.toString('utf8')
      case 'gzip':
      case 'x-gzip':
        return gunzipSync(bytes, options).toString('utf8')
      case 'deflate':
        return inflateSync(bytes, options).toString('utf8')
      case 'br':
        return brotliDecompressSync(bytes, options).toString('utf8')
      default:
        return undefined
    }
  } catch {
    return undefined
  }
}
