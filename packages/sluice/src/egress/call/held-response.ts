import type { ResponseHandler } from './response-handler.ts'
import { decodeBody } from './response-head.ts'

const mostBytes = 64 * 1024

/**
 * A response whose beginning is held back until it was judged. Then it is passed on unchanged, at the pace of its
 * receiver, or dropped.
 */
export class HeldResponse {
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #isPaused = false
  /** How the source ended. */
  #end: { readonly trailers: Buffer[] | null } | Error | undefined
  /** Where it is passed on to. */
  #handler: ResponseHandler | undefined
  #isOver = false

  readonly #status: number
  readonly #headers: Buffer[]
  readonly #statusText: string
  readonly #resumeSource: () => void

  constructor(status: number, headers: Buffer[], resume: () => void, statusText: string) {
    this.#status = status
    this.#headers = headers
    this.#statusText = statusText
    this.#resumeSource = resume
  }

  /** Whether its receiver can take more. */
  get wantsMore(): boolean {
    return !this.#isPaused
  }

  /** Whether the source has ended. */
  get hasEnded(): boolean {
    return this.#end !== undefined
  }

  /** What the source failed with. */
  get failure(): Error | undefined {
    return this.#end instanceof Error ? this.#end : undefined
  }

  /** Whether there is enough to examine; more than this is not held back. */
  get isFull(): boolean {
    return this.#bytes >= mostBytes
  }

  /** The whole body as text, once it is complete. */
  text(encoding: string | undefined): string | undefined {
    return this.#end ? decodeBody(this.#chunks, encoding) : undefined
  }

  /** Returns whether the source should go on. */
  add(chunk: Buffer): boolean {
    if (this.#handler && !this.#isPaused && this.#chunks.length === 0) {
      // Only `false` means that the receiver is not ready for more; some handlers return nothing.
      this.#isPaused = this.#handler.onData(chunk) === false
      return !this.#isPaused
    }
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    return this.#handler === undefined
  }

  /** The source has ended, or failed with an error. */
  end(how: { readonly trailers: Buffer[] | null } | Error): void {
    this.#end = how
    if (this.#handler) this.#flow(this.#handler)
  }

  /** Passes on everything held back, and everything that follows. */
  passTo(handler: ResponseHandler): void {
    this.#handler = handler
    const resume = (): void => {
      this.#isPaused = false
      this.#flow(handler)
      if (!this.#isPaused && !this.#end) this.#resumeSource()
    }
    this.#isPaused = handler.onHeaders(this.#status, this.#headers, resume, this.#statusText) === false
    this.#flow(handler)
  }

  #flow(handler: ResponseHandler): void {
    while (!this.#isPaused && this.#chunks.length > 0) {
      this.#isPaused = handler.onData(this.#chunks.shift()!) === false
    }
    // A failure is passed on at once: nobody needs the rest of a response that is not whole.
    const isFlowing = this.#isPaused || this.#chunks.length > 0
    if (this.#isOver || this.#end === undefined || (isFlowing && !(this.#end instanceof Error))) return
    this.#isOver = true
    if (this.#end instanceof Error) handler.onError(this.#end)
    else handler.onComplete(this.#end.trailers)
  }
}
