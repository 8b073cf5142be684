import { invalidOption } from '../../core/errors.ts'
import { toError } from '../../core/to-error.ts'
import { onAbort } from '../../runtime/on-abort.ts'
import type { Grant } from '../booking/grant.ts'
import { retryDelayMs } from '../call/may-retry.ts'
import { Turn, type TurnUser } from '../call/turn.ts'
import type { RunOptions } from '../egress.ts'
import { UpstreamError } from '../egress-error.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'

type Work<T> = (signal: AbortSignal) => T

/** Calls `work` once it is granted. */
export function runWithGrant<T>(runtime: UpstreamRuntime, work: Work<T>, options: RunOptions): Promise<Awaited<T>> {
  return new Promise((resolve, reject) => {
    if (typeof work !== 'function')
      throw invalidOption('run.work', work, "pass a function: egress.run('mail', (signal) => send(letter, { signal }))")
    new Run(runtime, work, options, resolve, reject).start()
  })
}

const defaultRetry = { baseMs: 250, maxMs: 10_000 }

/**
 * One piece of work. When it arrives at the vendor cannot be seen from here, so it counts as arriving until it settles;
 * or, where the upstream states `arrival`, for that long after it began.
 */
class Run<T> implements TurnUser {
  readonly #runtime: UpstreamRuntime
  readonly #work: Work<T>
  readonly #options: RunOptions
  readonly #resolve: (value: Awaited<T>) => void
  readonly #reject: (error: unknown) => void
  readonly #turn: Turn
  #controller: AbortController | undefined
  #retryTimer: ReturnType<UpstreamRuntime['clock']['setTimeout']> | undefined
  #stopListening: (() => void) | undefined
  #isOver = false

  readonly bytes = undefined

  constructor(
    runtime: UpstreamRuntime,
    work: Work<T>,
    options: RunOptions,
    resolve: (value: Awaited<T>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#runtime = runtime
    this.#work = work
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
    this.#turn = new Turn({ runtime, options, tenant: options.tenant ?? '', scope: '', needsConnection: false }, this)
  }

  start(): void {
    const { signal, cost } = this.#options
    if (signal) this.#stopListening = onAbort(signal, () => this.#abort(signal.reason))
    if (signal?.aborted) this.#abort(signal.reason)
    else this.#turn.begin(this.#runtime.givenCost(cost))
  }

  refused(error: Error): void {
    this.#end(error)
  }

  unreachable(error: Error): void {
    this.#end(error)
  }

  granted(grant: Grant): void {
    const runtime = this.#runtime
    const nowMs = runtime.clock.monotonic()
    if (nowMs > grant.writeByMs) {
      grant.cancel()
      this.#turn.again()
      return
    }
    const controller = new AbortController()
    this.#controller = controller
    const timeout = runtime.timeouts.add(nowMs + runtime.upstream.timeoutMs, () => this.#timedOut(controller))
    grant.written(nowMs, runtime.arrivalMs(undefined))
    const settled = (): void => {
      timeout.cancel()
      grant.answer(runtime.clock.monotonic())
      grant.finish()
    }
    const succeeded = (value: Awaited<T>): void => {
      settled()
      if (this.#isOver) return
      this.#turn.end('succeeded')
      this.#isOver = true
      this.#stopListening?.()
      this.#resolve(value)
    }
    const threw = (error: unknown): void => {
      settled()
      this.#threw(error)
    }
    new Promise<T>((resolve) => resolve(this.#work(controller.signal))).then(succeeded as never, threw)
  }

  /** It may still arrive: it counts until it settles. */
  #timedOut(controller: AbortController): void {
    const error = new UpstreamError('timeout', this.#runtime.name, true, undefined)
    this.#turn.end('failed')
    this.#runtime.reports.failed(this.#options.tenant ?? '', error)
    this.#end(error)
    controller.abort(error)
  }

  /** It counts as sent. It is repeated only where the caller asked for that. */
  #threw(error: unknown): void {
    if (this.#isOver) return
    const runtime = this.#runtime
    this.#turn.end('failed')
    const { attempts, leftMs } = this.#turn
    const delayMs = retryDelayMs(runtime.upstream.retry ?? defaultRetry, attempts, 0, runtime.random)
    if (attempts >= (this.#options.attempts ?? 1) || delayMs > leftMs) {
      this.#end(error)
      return
    }
    void runtime.booking.ask({ op: 'retry' }).then((result) => {
      if (this.#isOver) return
      if (result?.is !== 'ok') {
        this.#end(error)
        return
      }
      runtime.reports.retried(attempts + 1, delayMs, toError(error).message)
      this.#retryTimer = runtime.clock.setTimeout(() => this.#turn.begin(), delayMs)
    })
  }

  #abort(reason: unknown): void {
    if (this.#isOver) return
    this.#turn.leave()
    this.#turn.end('cancelled')
    this.#runtime.clock.clearTimeout(this.#retryTimer)
    this.#end(reason)
    this.#controller?.abort(reason)
  }

  #end(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stopListening?.()
    this.#reject(error)
  }
}
