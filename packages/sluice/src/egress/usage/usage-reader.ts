import { StringDecoder } from 'node:string_decoder'
import { decodeBody } from '../decode-body.ts'
import { mergeUsage, type Usage, usageIn, withTotal } from './usage.ts'

const mostJson = 1024 * 1024
const mostLine = 256 * 1024

/** Looks for usage in a response as it passes. It never delays the response, and keeps at most a bounded part of it. */
export interface UsageReader {
  read(chunk: Buffer): void
  /** What was found so far; undefined when nothing was. */
  usage(): Usage | undefined
  /** The whole body as text, where it was kept. */
  text(): string | undefined
}

export function usageReader(contentType: string | undefined, encoding: string | undefined): UsageReader {
  const isPlain = encoding === undefined || encoding.trim() === '' || encoding.trim() === 'identity'
  return contentType?.includes('text/event-stream') && isPlain ? new EventReader() : new BodyReader(encoding)
}

/** Server-sent events: one line at a time. */
class EventReader implements UsageReader {
  readonly #decoder = new StringDecoder('utf8')
  #line = ''
  #isTooLong = false
  #usage: Usage | undefined

  read(chunk: Buffer): void {
    const lines = this.#decoder.write(chunk).split(/\r\n|\n|\r/)
    for (const [index, text] of lines.entries()) {
      if (index > 0) this.#endLine()
      if (!this.#isTooLong) this.#line += text
      if (this.#line.length > mostLine) {
        this.#isTooLong = true
        this.#line = ''
      }
    }
  }

  usage(): Usage | undefined {
    this.#endLine()
    return withTotal(this.#usage)
  }

  text(): undefined {
    return undefined
  }

  #endLine(): void {
    const line = this.#line
    this.#line = ''
    this.#isTooLong = false
    if (!line.startsWith('data:') || !line.includes('"usage"')) return
    try {
      this.#usage = mergeUsage(this.#usage, usageIn(JSON.parse(line.slice(5))))
    } catch {
      // An event that is cut off or is not JSON is ignored.
    }
  }
}

/** One JSON document, read when it is whole. */
class BodyReader implements UsageReader {
  readonly #encoding: string | undefined
  #chunks: Buffer[] = []
  #bytes = 0
  #text: string | undefined

  constructor(encoding: string | undefined) {
    this.#encoding = encoding
  }

  read(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= mostJson) this.#chunks.push(chunk)
    else this.#chunks = []
  }

  text(): string | undefined {
    if (this.#bytes > mostJson) return undefined
    this.#text ??= decodeBody(this.#chunks, this.#encoding)
    return this.#text
  }

  usage(): Usage | undefined {
    try {
      return withTotal(usageIn(JSON.parse(this.text() ?? '')))
    } catch {
      return undefined
    }
  }
}
