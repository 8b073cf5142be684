import { mayHaveUsage, mergeUsage, type Usage, usageIn } from './usage.ts'

const mostJson = 1024 * 1024
const mostLine = 256 * 1024

/** Looks for usage in a response as it passes. It never delays the response, and keeps at most a bounded part of it. */
export interface UsageReader {
  read(chunk: Uint8Array): void
  /** What was found so far; undefined when nothing was. */
  usage(): Usage | undefined
  /** The whole body as text, where it was kept. */
  text(): string | undefined
}

/** The whole of a body as text, where it was compressed or not. */
export type Decode = (chunks: readonly Uint8Array[]) => string | undefined

/** What a response is, by its content type; by its first byte where that is not known. */
export function usageReader(contentType: string | undefined, decode: Decode | undefined): UsageReader {
  if (contentType?.includes('application/vnd.amazon.eventstream')) return new FrameReader()
  if (contentType?.includes('text/event-stream') && decode === undefined) return new EventReader()
  return new BodyReader(decode ?? plainText)
}

/** A reader for a response of which nothing is known before its first byte: JSON, frames of Bedrock, or events. */
export function guessingReader(): UsageReader {
  let reader: UsageReader | undefined
  return {
    read(chunk) {
      const first = chunk[0]
      if (first === undefined) return
      reader ??=
        first === 0
          ? new FrameReader()
          : /[\s{[]/.test(String.fromCharCode(first))
            ? new BodyReader(plainText)
            : new EventReader()
      reader.read(chunk)
    },
    usage: () => reader?.usage(),
    text: () => reader?.text(),
  }
}

const plainText: Decode = (chunks) => {
  const decoder = new TextDecoder()
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('')
}

/** Server-sent events: one line at a time. */
class EventReader implements UsageReader {
  readonly #decoder = new TextDecoder()
  #line = ''
  #isTooLong = false
  #usage: Usage | undefined

  read(chunk: Uint8Array): void {
    const lines = this.#decoder.decode(chunk, { stream: true }).split(/\r\n|\n|\r/)
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
    return this.#usage
  }

  text(): undefined {
    return undefined
  }

  #endLine(): void {
    const line = this.#line
    this.#line = ''
    this.#isTooLong = false
    if (line.startsWith('data:')) this.#usage = merged(this.#usage, line.slice(5))
  }
}

/** What an event adds; one that is cut off or is not JSON is ignored. */
function merged(usage: Usage | undefined, text: string): Usage | undefined {
  if (!mayHaveUsage.test(text)) return usage
  try {
    return mergeUsage(usage, usageIn(JSON.parse(text)))
  } catch {
    return usage
  }
}

/**
 * The binary frames of Bedrock's streams: lengths of the frame and of its headers, a checksum, headers, JSON, a
 * checksum.
 *
 * ConverseStream has usage in JSON of its own, InvokeModelWithResponseStream the event of the model in base64.
 */
class FrameReader implements UsageReader {
  #bytes = new Uint8Array(0)
  #usage: Usage | undefined
  #isLost = false

  read(chunk: Uint8Array): void {
    if (this.#isLost) return
    const all = new Uint8Array(this.#bytes.length + chunk.length)
    all.set(this.#bytes)
    all.set(chunk, this.#bytes.length)
    let at = 0
    while (all.length - at >= 12) {
      const view = new DataView(all.buffer, at)
      const [length, headers] = [view.getUint32(0), view.getUint32(4)]
      this.#isLost = length < 16 + headers || length > mostLine
      if (this.#isLost || all.length - at < length) break
      this.#frame(new TextDecoder().decode(all.subarray(at + 12 + headers, at + length - 4)))
      at += length
    }
    this.#bytes = this.#isLost ? new Uint8Array(0) : all.slice(at)
  }

  usage(): Usage | undefined {
    return this.#usage
  }

  text(): undefined {
    return undefined
  }

  #frame(text: string): void {
    const [, encoded] = /"bytes"\s*:\s*"([\w+/=]+)"/.exec(text) ?? []
    this.#usage = merged(this.#usage, encoded === undefined ? text : atob(encoded))
  }
}

/** One JSON document, read when it is whole. Gemini streams a list of them where events are not asked for. */
class BodyReader implements UsageReader {
  readonly #decode: Decode
  #chunks: Uint8Array[] = []
  #bytes = 0
  #text: string | undefined

  constructor(decode: Decode) {
    this.#decode = decode
  }

  read(chunk: Uint8Array): void {
    this.#bytes += chunk.length
    if (this.#bytes <= mostJson) this.#chunks.push(chunk)
    else this.#chunks = []
  }

  text(): string | undefined {
    if (this.#bytes > mostJson) return undefined
    this.#text ??= this.#decode(this.#chunks)
    return this.#text
  }

  usage(): Usage | undefined {
    try {
      const value: unknown = JSON.parse(this.text() ?? '')
      return [value].flat().map(usageIn).reduce(mergeUsage, undefined)
    } catch {
      return undefined
    }
  }
}
