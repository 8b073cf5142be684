import type { Dispatcher } from 'undici'
import type { UsageReader } from '../../admission/usage/usage-reader.ts'
import { SluiceError } from '../../core/errors.ts'
import { toError } from '../../core/to-error.ts'
import type { Grant } from '../booking/grant.ts'
import type { Units } from '../booking/messages.ts'
import type { Connection } from '../connection/connection.ts'
import type { CallOptions } from '../egress.ts'
import { UpstreamError } from '../egress-error.ts'
import type { OutgoingRequest } from '../options.ts'
import type { VendorSignal } from '../vendor/vendor-signal.ts'
import { Attempt, type AttemptObserver, LateGrant } from './attempt.ts'
import { type BookedCall, type CallContext, nameOf } from './call-context.ts'
import { HeldResponse } from './held-response.ts'
import { type AttemptOutcome, nextAttemptMs } from './may-retry.ts'
import { comesInPieces, isInMemory, outgoingRequest, readAhead, withoutHeadersTimeout } from './outgoing-request.ts'
import { type ResponseHandler, toResponseHandler } from './response-handler.ts'
import {
  estimateRequest,
  headerFields,
  hookAnswer,
  mayBeRepeated,
  needsBody,
  pauseUpstream,
  ResponseHead,
  readerOf,
  reportedUnits,
  signalOf,
} from './response-head.ts'
import { Turn, type TurnUser } from './turn.ts'

/** About the size of the head of a request. */
const usualHead = 1000

/** One dispatch as its caller sees it: booked, sent, and sent again where that is allowed. */
export class Call implements AttemptObserver, BookedCall, TurnUser {
  readonly #context: CallContext
  #request: Dispatcher.DispatchOptions
  #handler: ResponseHandler
  #outgoing: OutgoingRequest | undefined
  readonly #tenant: string
  readonly #scope: string
  readonly #turn: Turn
  /** What it was granted, until its request is there. */
  #granted: { readonly grant: Grant; readonly connection: Connection | undefined } | undefined
  #isMade: boolean
  #attempt: Attempt | undefined
  #reader: UsageReader | undefined
  #model: string | undefined
  #response: ResponseHead | undefined
  #held: HeldResponse | undefined
  /** What to do about the current attempt is decided, once: two decisions on one refusal would send two retries. */
  #isJudged = false
  #isPassing = false
  #isOver = false

  constructor(context: CallContext, request: Dispatcher.DispatchOptions, handler: ResponseHandler) {
    const { runtime, options, transport } = context
    const { hooks } = runtime
    this.#context = context
    this.#request = request
    this.#handler = handler
    this.#isMade = context.deferred === undefined
    const fair = hooks.fairBy ? hookAnswer('fairBy', hooks.fairBy(this.#about)) : undefined
    this.#tenant = fair ?? options.tenant ?? ''
    this.#scope = hooks.scope ? nameOf(hookAnswer('scope', hooks.scope(this.#about))) : ''
    const needsConnection = transport === undefined
    this.#turn = new Turn({ runtime, options, tenant: this.#tenant, scope: this.#scope, needsConnection }, this)
  }

  /** What is passed to hooks of the request; most calls need none of it. */
  get #about(): OutgoingRequest {
    this.#outgoing ??= outgoingRequest(this.#request)
    return this.#outgoing
  }

  get bytes(): number | undefined {
    const { body } = this.#request
    if (this.#context.transport !== undefined || !isInMemory(body)) return undefined
    return usualHead + (body ? Buffer.byteLength(body as string | Uint8Array) : 0)
  }

  start(): void {
    // The caller can abort from now on, not only once its request is written.
    this.#handler.onConnect((reason) => this.#abort(reason ?? new Error('aborted')))
    if (this.#isOver) return
    if (comesInPieces(this.#request.body)) void this.#readBody(this.#request.body)
    else this.#turn.begin(this.#cost())
  }

  async #readBody(body: AsyncIterable<Uint8Array | string>): Promise<void> {
    try {
      this.#request = { ...this.#request, body: (await readAhead(body)) as Buffer }
      if (!this.#isOver) this.#turn.begin(this.#cost())
    } catch (error) {
      this.#end(toError(error))
    }
  }

  /** Asked for once: what the hook throws refuses the call, but a later attempt has nobody to throw to. */
  #cost(): CallOptions['cost'] {
    const { runtime, options } = this.#context
    if (options.cost !== undefined) return runtime.givenCost(options.cost)
    if (!runtime.countsUnits) return undefined
    const { cost } = runtime.hooks
    return cost ? runtime.givenCost(hookAnswer('cost', cost(this.#about))) : this.#tokens()
  }

  #tokens(): CallOptions['cost'] {
    const estimate = estimateRequest(this.#about, this.#context.runtime.outputs)
    this.#model = estimate?.model
    return (
      estimate && {
        tokens: estimate.input + estimate.output,
        'input-tokens': estimate.input,
        'output-tokens': estimate.output,
      }
    )
  }

  #abort(reason: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#turn.leave()
    this.#turn.end('cancelled')
    this.#returnGrant()
    this.#attempt?.giveUp(reason)
    this.#handler.onError(reason)
  }

  // What its turn brings.

  refused(error: Error): void {
    this.#end(error)
  }

  unreachable(error: Error): void {
    this.failed(error, false)
  }

  granted(grant: Grant, connection: Connection | undefined): void {
    this.#granted = { grant, connection }
    if (this.#isMade) this.#send()
    else {
      this.#isMade = true
      this.#context.deferred!.begin(this)
    }
  }

  adopt(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const { body } = this.#request
    this.#request = body ? { ...request, body } : request
    this.#handler = toResponseHandler(handler, this.#context.runtime.undici)
    this.#handler.onConnect((reason) => this.#abort(reason ?? new Error('aborted')))
    if (!this.#isOver) this.#send()
  }

  abandon(): void {
    if (this.#attempt === undefined) this.#abort(new Error('there is no request'))
  }

  #returnGrant(): void {
    const { grant, connection } = this.#granted ?? {}
    this.#granted = undefined
    grant?.cancel()
    if (connection) this.#context.runtime.connections.giveBack(connection)
  }

  #send(): void {
    const { runtime, transport, timeoutMs } = this.#context
    const { grant, connection } = this.#granted!
    this.#granted = undefined
    this.#isJudged = false
    const attempt = new Attempt(runtime, grant, this, {
      timeoutMs: Math.min(timeoutMs ?? Infinity, runtime.upstream.timeoutMs),
      isInMemory: isInMemory(this.#request.body),
      connection,
    })
    this.#attempt = attempt
    // The time to the first byte is measured by the attempt, which also knows what was written.
    const request = withoutHeadersTimeout(this.#request)
    try {
      if (connection) connection.dispatch(request, attempt as unknown as Dispatcher.DispatchHandler)
      else transport!(request, attempt as unknown as Dispatcher.DispatchHandler)
    } catch (error) {
      attempt.onError(toError(error))
    }
  }

  // What the attempt reports.

  responded(status: number, rawHeaders: Buffer[], resume: () => void, statusText: string): boolean {
    const { runtime } = this.#context
    const head = new ResponseHead(status, headerFields(rawHeaders))
    const { waitMs, attempts } = this.#turn
    this.#response = head
    this.#held = new HeldResponse(status, rawHeaders, resume, statusText)
    this.#turn.end(status >= 500 && status !== 503 ? 'failed' : 'succeeded')
    runtime.reports.responded(this.#tenant, this.#attempt!.firstByteMs, status, waitMs, attempts)
    if (runtime.countsUnits) this.#reader = readerOf(head)
    if (!needsBody(runtime, head)) this.#judge(signalOf(runtime, head, undefined))
    return this.#held.wantsMore
  }

  data(chunk: Buffer): boolean {
    this.#reader?.read(chunk)
    const wantsMore = this.#held!.add(chunk)
    if (this.#isJudged || !this.#held!.isFull) return wantsMore
    this.#judge(signalOf(this.#context.runtime, this.#response!, undefined))
    return this.#held!.wantsMore
  }

  ended(trailers: Buffer[] | null): void {
    const held = this.#held!
    this.#isOver = this.#isPassing
    held.end({ trailers })
    if (this.#isJudged) return
    const body = held.text(this.#response!.headers['content-encoding'])
    this.#judge(signalOf(this.#context.runtime, this.#response!, body))
  }

  failed(error: Error, written: boolean): void {
    if (error instanceof LateGrant) {
      this.#turn.again()
      return
    }
    const failure = this.#failureOf(error, written)
    const isVendors = failure instanceof UpstreamError && failure.reason !== 'aborted'
    this.#turn.end(isVendors ? 'failed' : 'cancelled')
    if (!(failure instanceof UpstreamError)) {
      this.#end(failure)
      return
    }
    // What is passed on cannot be taken back; what was judged is not judged again.
    if (this.#isPassing) this.#endHeld(failure)
    else if (this.#isJudged && this.#held) this.#held.end(failure)
    else this.#retryOr({ kind: 'failure', written }, 0, failure.reason, () => this.#end(failure))
  }

  #failureOf(error: Error, written: boolean): Error {
    if (error instanceof SluiceError) return error
    const { code, message } = error as { code?: unknown } & Error
    if (code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH')
      return new SluiceError('SLUICE_WRONG_USE', 'the content-length of the request is not the length of its body')
    if (code === 'UND_ERR_INVALID_ARG' && !written)
      return new SluiceError('SLUICE_WRONG_USE', `the request cannot be sent: ${message}`)
    return new UpstreamError(written ? 'reset' : 'unreachable', this.#context.runtime.name, written, error)
  }

  actualUnits(reserved: Units, isCut: boolean): Units | undefined {
    const { runtime } = this.#context
    if (this.#response === undefined || !runtime.countsUnits) return undefined
    const output = isCut ? undefined : this.#reader?.usage()?.['output-tokens']
    if (output !== undefined && this.#model !== undefined) runtime.outputs.record(this.#model, output)
    return reportedUnits(runtime, this.#response, this.#reader, isCut ? reserved : undefined)
  }

  // What a response means.

  #judge(signal: VendorSignal): void {
    this.#isJudged = true
    const { runtime } = this.#context
    const { status } = this.#response!
    if (signal.pauses) pauseUpstream(runtime, this.#scope, signal, status, this.#attempt!.writtenMs!)
    const { limited, mayRetry: vendorAllows } = signal
    if (!limited && !mayBeRepeated(status)) this.#passOn()
    else {
      const outcome: AttemptOutcome = { kind: 'status', status, limited, vendorAllows }
      this.#retryOr(outcome, signal.waitMs ?? 0, `status ${status}`, () => this.#passOn())
    }
  }

  /** Makes the call again if that is safe, in time and within the fleet's retry budget; otherwise calls `otherwise`. */
  #retryOr(outcome: AttemptOutcome, waitMs: number, reason: string, otherwise: () => void): void {
    this.#isJudged = true
    const { runtime } = this.#context
    const request = {
      method: this.#about.method,
      hasIdempotencyKey: this.#about.headers['idempotency-key'] !== undefined,
      canRepeat: isInMemory(this.#request.body) || (outcome.kind === 'failure' && !outcome.written),
    }
    const { attempts } = this.#turn
    const delayMs = nextAttemptMs(runtime.upstream.retry, request, outcome, attempts, waitMs, runtime.random)
    this.#turn.retry(delayMs, reason, otherwise, () => {
      this.#attempt?.discard()
      this.#attempt = undefined
      this.#held = undefined
      this.#reader = undefined
      this.#response = undefined
    })
  }

  #passOn(): void {
    if (this.#isOver) return
    const held = this.#held!
    const { runtime, onResponse } = this.#context
    const { waitMs, attempts } = this.#turn
    onResponse?.({ waitMs, attempts, fields: this.#response!.fields })
    this.#isPassing = true
    this.#isOver = held.hasEnded
    if (held.failure instanceof UpstreamError) runtime.reports.failed(this.#tenant, held.failure)
    held.passTo(this.#handler)
  }

  #endHeld(failure: UpstreamError): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#context.runtime.reports.failed(this.#tenant, failure)
    this.#held!.end(failure)
  }

  #end(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    if (error instanceof UpstreamError) this.#context.runtime.reports.failed(this.#tenant, error)
    this.#handler.onError(error)
  }
}
