const tickMs = 2

/**
 * Records when this process was ready to run and the machine did not let it, so that a busy machine is not mistaken for
 * a late decision.
 */
export class Stalls {
  readonly #stalls: { readonly fromMs: number; readonly toMs: number; readonly awayMs: number }[] = []
  #timer: NodeJS.Timeout | undefined

  start(): void {
    let lastMs = performance.now()
    let lastCpu = process.cpuUsage()
    this.#timer = setInterval(() => {
      const nowMs = performance.now()
      const cpu = process.cpuUsage(lastCpu)
      const wallMs = nowMs - lastMs
      // Time in which the process itself computed is its own delay and does not count.
      const awayMs = Math.min(wallMs - tickMs, wallMs - (cpu.user + cpu.system) / 1000)
      if (awayMs > 1) this.#stalls.push({ fromMs: lastMs, toMs: nowMs, awayMs })
      lastMs = nowMs
      lastCpu = process.cpuUsage()
    }, tickMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** For how long the process was kept from running between two instants. */
  within(fromMs: number, toMs: number): number {
    const overlapping = this.#stalls.filter((stall) => stall.toMs > fromMs && stall.fromMs < toMs)
    return overlapping.reduce((sum, { awayMs }) => sum + awayMs, 0)
  }
}
