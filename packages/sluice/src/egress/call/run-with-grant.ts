import { invalidOption } from '../../core/errors.ts'
import { toError } from '../../core/to-error.ts'
import { onAbort } from '../../runtime/on-abort.ts'
import type { RunOptions } from '../egress.ts'
import { UpstreamError } from '../egress-error.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'
import { retryDelayMs } from './may-retry.ts'
import { Turn } from './turn.ts'

const defaultRetry = { baseMs: 250, maxMs: 10_000 }

/**
 * Calls `work` once it is granted. When it arrives at the vendor cannot be seen from here, so it counts as arriving
 * until it settles; or, where the upstream states `arrival`, for that long after it began. A throw counts as sent, and
 * is repeated only where the caller asked for that.
 */
export async function runWithGrant<T>(
  runtime: UpstreamRuntime,
  work: (signal: AbortSignal) => T,
  options: RunOptions,
): Promise<Awaited<T>> {
  if (typeof work !== 'function')
    throw invalidOption('run.work', work, "pass a function: egress.run('mail', (signal) => send(letter, { signal }))")
  const { signal, tenant = '', attempts: most = 1 } = options
  signal?.throwIfAborted()
  const { clock } = runtime
  let controller: AbortController | undefined
  let isOver = false
  let stopListening = (): void => {}
  const ended = new Promise<Awaited<T>>((resolve, reject) => {
    const end = (settle: () => void): void => {
      if (!isOver) settle()
      isOver = true
      stopListening()
    }
    const fail = (error: unknown): void => end(() => reject(error))
    const threw = (error: unknown): void => {
      if (isOver) return
      turn.end('failed')
      const delayMs = retryDelayMs(runtime.upstream.retry ?? defaultRetry, turn.attempts, 0, runtime.random)
      turn.retry(turn.attempts < most ? delayMs : Infinity, toError(error).message, () => fail(error))
    }
    const turn: Turn = new Turn(
      { runtime, options, tenant, scope: '', needsConnection: false },
      {
        bytes: undefined,
        refused: fail,
        unreachable: fail,
        granted(grant) {
          const nowMs = clock.monotonic()
          if (nowMs > grant.writeByMs) {
            grant.cancel()
            turn.again()
            return
          }
          const own = new AbortController()
          controller = own
          const timeout = runtime.timeouts.add(nowMs + runtime.upstream.timeoutMs, () => {
            // Its grant counts until it settles, as it may still arrive.
            if (isOver) return
            const error = new UpstreamError('timeout', runtime.name, true, undefined)
            turn.end('failed')
            runtime.reports.failed(tenant, error)
            fail(error)
            own.abort(error)
          })
          grant.written(nowMs, runtime.arrivalMs(undefined))
          const settled = (): void => {
            timeout.cancel()
            grant.answer(clock.monotonic())
            grant.finish()
          }
          new Promise<T>((done) => done(work(own.signal))).then(
            (value) => {
              settled()
              if (!isOver) turn.end('succeeded')
              end(() => resolve(value as Awaited<T>))
            },
            (error) => {
              settled()
              threw(error)
            },
          )
        },
      },
    )
    if (signal)
      stopListening = onAbort(signal, () => {
        turn.leave()
        turn.end('cancelled')
        fail(signal.reason)
        controller?.abort(signal.reason)
      })
    turn.begin(runtime.givenCost(options.cost))
  })
  return ended
}
