/** How much of a segment is read at a time. */
export const windowBytes: number = 1 << 20
/** About one batch of the largest size. */
const keptWindows = 6

/**
 * Buffers that segments are read into. They are reused, because the memory of large buffers is released late: a drain
 * at full speed would hold tens of megabytes that are not used.
 *
 * Events point into them. A window that its reader has left is `retired`, and used again only when the batch that was
 * taken then, and all before it, are complete.
 */
export class Windows {
  readonly #free: Buffer[] = []
  #retired: { readonly window: Buffer; readonly batch: number }[] = []
  #batches = 0

  take(bytes: number): Buffer {
    if (bytes > windowBytes) return Buffer.allocUnsafeSlow(bytes)
    return (this.#free.pop() ?? Buffer.allocUnsafeSlow(windowBytes)).subarray(0, bytes)
  }

  retire(window: Buffer): void {
    if (window.buffer.byteLength === windowBytes) this.#retired.push({ window, batch: this.#batches + 1 })
  }

  /** Another batch is about to be taken, while so many of those before it are not complete. */
  nextBatch(incomplete: number): void {
    const complete = this.#batches - incomplete
    for (const { window, batch } of this.#retired) {
      if (batch <= complete && this.#free.length < keptWindows) this.#free.push(Buffer.from(window.buffer))
    }
    this.#retired = this.#retired.filter(({ batch }) => batch > complete)
  }

  /** The batch was taken. One without events is none: it is never complete. */
  taken(): void {
    this.#batches++
  }

  /** Releases all memory. */
  clear(): void {
    this.#retired = []
    this.#free.length = 0
  }
}
