import type { Clock, Timer } from '../../core/clock.ts'
import { reconnectDelayMs } from './connection.ts'

interface Reconnecting {
  on(event: string, listener: (...args: never[]) => void): unknown
  connect(): Promise<unknown>
}

/**
 * ioredis ends permanently, without another attempt, when its connector is disconnected while it is connecting. Its
 * failover detector does just that when a switch of masters is announced at that moment. Connects again until the
 * returned function is called.
 */
export function reconnectEnded(own: Reconnecting, capMs: number, clock: Clock): () => void {
  let isClosed = false
  let attempt = 0
  let timer: Timer | undefined
  own.on('ready', () => {
    attempt = 0
  })
  own.on('end', () => {
    if (isClosed) return
    // What went wrong is emitted as an error too; the next 'end' starts the next attempt.
    const connect = (): void => void own.connect().catch(() => undefined)
    timer = clock.setTimeout(connect, reconnectDelayMs(attempt++, capMs, Math.random))
    timer.unref?.()
  })
  return () => {
    isClosed = true
    clock.clearTimeout(timer)
  }
}
