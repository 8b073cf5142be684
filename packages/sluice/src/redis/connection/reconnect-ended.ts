import type { Clock } from '../../core/clock.ts'
import { backgroundClock } from '../../runtime/background-clock.ts'
import { Reachability } from '../../runtime/reachability.ts'
import { reconnectBackoff } from './connection.ts'

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
  const reachability = new Reachability({
    clock: backgroundClock(clock),
    random: Math.random,
    backoff: reconnectBackoff(capMs),
    // What went wrong is emitted as an error too; the next 'end' starts the next attempt.
    probe: () => void own.connect().catch(() => undefined),
  })
  own.on('ready', () => reachability.answered())
  own.on('end', () => reachability.failed())
  return () => reachability.close()
}
