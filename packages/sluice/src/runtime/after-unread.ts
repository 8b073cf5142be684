import type { Clock } from '../core/clock.ts'

/**
 * Runs what a timer was set for. Timers fire before sockets are read, and the turn of the event loop before may have
 * been a long one: replies that came in time may still be unread, so they are read first. `task` is given the time
 * until which that was done: of a call that was sent while sockets were read, nothing can be said yet.
 */
export function afterUnread(clock: Clock, task: (readMs: number) => void): void {
  const readMs = clock.monotonic()
  const run = (): void => task(readMs)
  // Only Node has `setImmediate`; elsewhere there are no sockets to read.
  if (globalThis.setImmediate === undefined) clock.setTimeout(run, 0)
  else setImmediate(run)
}
