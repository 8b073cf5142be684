/** How much of a segment is read at a time. */
export const windowBytes: number = 1 << 20
/** About one batch of the largest size. */
const keptWindows = 6

/**
 * Buffers that segments are read into. They are reused, because the memory of large buffers is released late: a drain
 * at full speed would hold tens of megabytes that are not used.
 *
 * Events point into them. A window that its reader has left is `retired`, and used again only after `reuse`, which
 * means that no earlier event is needed any longer.
 */
export class Windows {
  readonly #free: Buffer[] = []
  #retired: Buffer[] = []

  take(bytes: number): Buffer {
    if (bytes > windowBytes) return Buffer.allocUnsafeSlow(bytes)
    return (this.#free.pop() ?? Buffer.allocUnsafeSlow(windowBytes)).subarray(0, bytes)
  }

  retire(window: Buffer): void {
    if (window.buffer.byteLength === windowBytes) this.#retired.push(window)
  }

  reuse(): void {
    for (const { buffer } of this.#retired) if (this.#free.length < keptWindows) this.#free.push(Buffer.from(buffer))
    this.#retired = []
  }

  /** Releases all memory. */
  clear(): void {
    this.#retired = []
    this.#free.length = 0
  }
}
