import type { ServerResponse } from 'node:http'
import {
  clientClosedRequest,
  type Denial,
  type Finish,
  type GuardOutcome,
  type Header,
} from '../../admission/outcome.ts'
import { isDenial, type OnDenied } from '../request/adapter-options.ts'

/** Sets headers, unless something else (such as a time-out) has answered already. */
export function setHeaders(response: ServerResponse, headers: readonly Header[]): void {
  try {
    for (let i = 0; i < headers.length; i++) response.setHeader(headers[i]![0], headers[i]![1])
  } catch (error) {
    // Express responses have different hidden classes, so reading a property is slow: read it only after a failure.
    if (!response.headersSent) throw error
  }
}

/** Answers with a denial. */
function writeDenial(response: ServerResponse, { status, headers, body }: Denial<unknown>): void {
  if (response.headersSent) return
  response.statusCode = status
  setHeaders(response, headers)
  response.end(body)
}

/** Calls `finish` once: when the response has been sent, or when the client is gone. */
export function onResponseEnd(response: ServerResponse, finish: Finish): void {
  const reader = finish.readUsage?.()
  const bytes = countBytes(response, reader && ((chunk) => reader.read(chunk)))
  onClose(response, () =>
    finish({
      status: response.headersSent ? response.statusCode : clientClosedRequest,
      bytes: bytes(),
      completed: isComplete(response),
      ...(reader && { usage: reader.usage() }),
    }),
  )
}

/**
 * Whether all of the response was sent. A stream of HTTP/2 that the client cancelled also says that its writing has
 * finished.
 */
function isComplete(response: ServerResponse): boolean {
  const { stream } = response as { stream?: { readonly aborted: boolean; readonly rstCode?: number } }
  if (stream === undefined) return response.writableFinished
  return response.writableEnded && !stream.aborted && !stream.rstCode
}

/** A signal that is aborted when the client goes away before it was answered. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  onClose(response, () => gone.abort())
  return gone.signal
}

/** As much of a connection of HTTP/1 or a stream of HTTP/2 as is used. */
interface Carrier {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
}

/**
 * What is to be done when a connection or stream closes. One listener does it all, as many requests may wait on one
 * connection.
 */
const onCarrierClose = new WeakMap<Carrier, Set<() => void>>()

/**
 * Calls `end` once: when the response or its connection has closed. Node emits no event on a response that waits behind
 * another one when their connection closes, nor on an HTTP/2 response whose stream was cancelled before.
 */
function onClose(response: ServerResponse, end: () => void): void {
  const carrier: Carrier | undefined =
    (response as { stream?: Carrier }).stream ?? (response.req?.socket as Carrier | undefined)
  if (response.closed || carrier?.destroyed) {
    end()
    return
  }
  const waiting = carrier && waitingOn(carrier)
  const once = (): void => {
    response.off('close', once)
    waiting?.delete(once)
    end()
  }
  response.once('close', once)
  waiting?.add(once)
}

function waitingOn(carrier: Carrier): Set<() => void> {
  let waiting = onCarrierClose.get(carrier)
  if (waiting === undefined) {
    const added = new Set<() => void>()
    waiting = added
    onCarrierClose.set(carrier, added)
    carrier.once('close', () => {
      // What a response says of itself when it closes is right, so those that close come first.
      setImmediate(() => {
        for (const each of added) each()
      })
    })
  }
  return waiting
}

type Write = (chunk?: unknown, ...rest: unknown[]) => unknown

/** Node does not expose the length of a body, so the bytes are counted as they are written. */
function countBytes(response: ServerResponse, read?: (chunk: Uint8Array) => void): () => number {
  let bytes = 0
  let isWriting = false
  const counted = (write: Write): Write =>
    function (this: ServerResponse, chunk, ...rest) {
      // `end` of HTTP/2 calls `write`, which must not count again.
      if (isWriting) return write.call(this, chunk, ...rest)
      if (typeof chunk === 'string') bytes += Buffer.byteLength(chunk, rest[0] as BufferEncoding)
      else if (chunk instanceof Uint8Array) bytes += chunk.byteLength
      if (typeof chunk === 'string') read?.(Buffer.from(chunk, rest[0] as BufferEncoding))
      else if (chunk instanceof Uint8Array) read?.(chunk)
      isWriting = true
      try {
        return write.call(this, chunk, ...rest)
      } finally {
        isWriting = false
      }
    }
  response.write = counted(response.write as Write) as ServerResponse['write']
  response.end = counted(response.end as Write) as ServerResponse['end']
  return () => (response.req.method === 'HEAD' ? 0 : bytes)
}

/** What frameworks answer with; Fastify writes only after its hooks. */
interface Sender {
  send(...args: unknown[]): unknown
}

/** Tells later whether a response was answered meanwhile, or begun to be. */
export function watchAnswer(response: ServerResponse, sender?: Sender): () => boolean {
  let hasBegun = false
  const begin = (): void => {
    hasBegun = true
  }
  response.once('pipe', begin)
  const send = sender?.send
  if (sender !== undefined)
    sender.send = function (this: Sender, ...args) {
      hasBegun = true
      return send!.apply(this, args)
    }
  return () => {
    response.off('pipe', begin)
    if (sender !== undefined) sender.send = send!
    return hasBegun || response.headersSent || response.writableEnded
  }
}

/** Writes an outcome to a Node response; then the request goes on with `pass`, or has been answered. */
export function applyOutcome<Exchange, Decided>(
  outcome: GuardOutcome<Decided>,
  response: ServerResponse,
  onDenied: OnDenied<Exchange, never, Decided> | undefined,
  exchange: () => Exchange,
  pass: () => void,
  fail: (error: unknown) => void,
): void {
  const { denial, finish } = outcome
  try {
    if (denial === undefined) {
      setHeaders(response, outcome.headers)
      if (finish !== undefined) onResponseEnd(response, finish)
    } else if (onDenied === undefined) writeDenial(response, denial)
    else answerOwn(response, denial, () => onDenied(denial, exchange()), fail)
  } catch (error) {
    fail(error)
    return
  }
  if (denial === undefined) pass()
}

function answerOwn<Decided>(
  response: ServerResponse,
  denial: Denial<Decided>,
  own: () => ReturnType<OnDenied<never, never, Decided>>,
  fail: (error: unknown) => void,
): void {
  const isAnswered = watchAnswer(response)
  Promise.resolve(own())
    .then((answer) => {
      if (isDenial(answer)) writeDenial(response, answer)
      // Otherwise the client would wait for ever.
      else if (!isAnswered()) writeDenial(response, denial)
    })
    .catch(fail)
}
