import { SluiceError } from '../../core/errors.ts'

/**
 * How long Redis waits for replicas at a time. It answers nothing else on the socket meanwhile; with one long wait, all
 * reads would wait too, and the socket would look dead.
 */
const waitMs = 20

/**
 * Waits until so many replicas have what was written. `leftMs` is how much time is left, `connection` changes with
 * every new one, and `send` runs a command.
 */
export async function waitForReplicas(
  replicas: number,
  leftMs: () => number,
  connection: () => number,
  send: (words: readonly string[], withinMs: number) => Promise<unknown>,
): Promise<void> {
  const first = connection()
  let received = 0
  do {
    const ms = Math.max(1, Math.ceil(Math.min(waitMs, leftMs())))
    const reply = await send(['WAIT', String(replicas), String(ms)], leftMs() + waitMs)
    // On a new connection nothing was written, so WAIT would count all replicas as up to date.
    if (connection() !== first) break
    received = Number(reply)
    if (received >= replicas) return
  } while (leftMs() > 1)
  throw new SluiceError('SLUICE_STORE_FAILED', `only ${received} of ${replicas} replicas have the invalidation`, {
    transient: true,
  })
}
