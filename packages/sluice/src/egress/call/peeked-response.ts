import { decodeBody } from '../decode-body.ts'
import type { ResponseHandler } from './response-handler.ts'

const mostBytes = 64 * 1024

/**
 * A response whose beginning is held back until it has been examined. Then it is passed on unchanged, at the pace of
 * its receiver.
 */
export class PeekedResponse {
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #isPassing = false
  #isPaused = false
  #ended: { readonly trailers: Buffer[] | null } | undefined
  #handler: ResponseHandler | undefined
  #resume: (() => void) | undefined

  readonly status: number
  readonly headers: Buffer[]
  readonly statusText: string
  readonly #resumeSource: () => void

  constructor(status: number, headers: Buffer[], resume: () => void, statusText: string) {
    this.status = status
    this.headers = headers
    this.statusText = statusText
    this.#resumeSource = resume
  }

  get isPassing(): boolean {
    return this.#isPassing
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined
  }

  /** Whether there is enough to examine; more than this is not held back. */
  get isFull(): boolean {
    return this.#bytes >= mostBytes
  }

  /** The body so far, if it is complete. */
  text(encoding: string | undefined): string | undefined {
    return this.#ended ? decodeBody(this.#chunks, encoding) : undefined
  }

  add(chunk: Buffer): boolean {
    if (this.#isPassing && !this.#isPaused && this.#chunks.length === 0) {
      // Only `false` means that the receiver is not ready for more; some handlers return nothing.
      this.#isPaused = this.#handler!.onData(chunk) === false
      return !this.#isPaused
    }
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    return !this.#isPassing
  }

  /** The source has ended. */
  end(trailers: Buffer[] | null): void {
    this.#ended = { trailers }
    if (this.#isPassing) this.#flow()
  }

  /** Passes on everything held back, and everything that follows. */
  passTo(handler: ResponseHandler): void {
    this.#isPassing = true
    this.#handler = handler
    this.#resume = () => {
      this.#isPaused = false
      this.#flow()
      if (!this.#isPaused && !this.#ended) this.#resumeSource()
    }
    this.#isPaused = handler.onHeaders(this.status, this.headers, this.#resume, this.statusText) === false
    this.#flow()
  }

  #flow(): void {
    while (!this.#isPaused && this.#chunks.length > 0) {
      this.#isPaused = this.#handler!.onData(this.#chunks.shift()!) === false
    }
    if (this.#isPaused || this.#chunks.length > 0 || !this.#ended) return
    const { trailers } = this.#ended
    this.#ended = undefined
    this.#handler!.onComplete(trailers)
  }
}
