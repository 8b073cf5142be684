import type { Clock, Timer } from '../core/clock.ts'

/** Runs something every `ms`, until the returned function is called. Does not keep the process alive. */
export function every(ms: number, clock: Clock, run: () => void): () => void {
  let timer: Timer
  const wait = (): void => {
    timer = clock.setTimeout(() => {
      // Set before the run, so that a run that stops or throws leaves no timer unknown or missing.
      wait()
      run()
    }, ms)
    timer.unref?.()
  }
  wait()
  return () => clock.clearTimeout(timer)
}
