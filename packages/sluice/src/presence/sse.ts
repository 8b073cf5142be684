import type { OutgoingHttpHeaders } from 'node:http'
import { checkOptionNames, optionNames } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { every } from '../runtime/every.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { Membership, Presence } from './presence.ts'

export interface EventStreamOptions {
  readonly channel: string
  /** The member that is connected. */
  readonly id: string
  readonly data?: unknown
  /** How often a comment is sent, so that a client that is gone is noticed; 15 s by default. */
  readonly heartbeat?: Duration
  /** A client that is behind by more than this many bytes is disconnected; 1 MiB by default. */
  readonly maxBufferedBytes?: number
  /** What the stream begins with, such as the current values. */
  readonly first?: readonly string[]
  /** The clock for heartbeats; the machine's clock by default. */
  readonly clock?: Clock
}

const names = optionNames<EventStreamOptions>({
  channel: true,
  id: true,
  data: true,
  heartbeat: true,
  maxBufferedBytes: true,
  first: true,
  clock: true,
})

/** The response of `node:http`, which Express, Fastify (`reply.raw`), Koa (`ctx.res`) and Nest provide too. */
export interface NodeResponse {
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown
  write(text: string): boolean
  end(): unknown
  destroy(): unknown
  readonly writableLength: number
  on(event: 'close', listener: () => void): unknown
}

export const eventStreamHeaders: Readonly<Record<string, string>> = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  connection: 'keep-alive',
  // nginx would wait for the end of the response, which never comes.
  'x-accel-buffering': 'no',
})

/** A message in the format of event streams: `data: ` before each line. */
export function eventText(message: string): string {
  return `data: ${message.replace(/\r\n?|\n/g, '\ndata: ')}\n\n`
}

/** How a stream reaches its client. */
interface Outlet {
  write(text: string): void
  buffered(): number
  cut(): void
}

async function connect(presence: Presence, options: EventStreamOptions, outlet: Outlet): Promise<() => void> {
  const {
    channel,
    id,
    data,
    heartbeat = '15s',
    maxBufferedBytes = 1024 * 1024,
    first = [],
    clock = systemClock(),
  } = options
  let membership: Membership | undefined
  let isOver = false
  const send = (text: string): void => {
    if (isOver) return
    if (outlet.buffered() > maxBufferedBytes) {
      close()
      outlet.cut()
    } else outlet.write(text)
  }
  const stopHeartbeat = every(parseDuration(heartbeat, 'heartbeat'), clock, () => send(': still here\n\n'))
  const unsubscribe = presence.subscribe(channel, (message) => send(eventText(message)))
  const close = (): void => {
    if (isOver) return
    isOver = true
    stopHeartbeat()
    unsubscribe()
    membership?.leave()
  }
  send(': welcome\n\n')
  for (const message of first) send(eventText(message))
  membership = await presence.join(channel, id, data).catch((error) => {
    close()
    throw error
  })
  // The client may have disconnected while it was joining.
  if (isOver) membership.leave()
  return close
}

/**
 * Streams what is published to a channel to a client, which is a member of it while the connection lasts.
 *
 * @example
 * app.get('/v1/stream', (request, response) => sendEvents(presence, response, { channel: 'prices', id: request.ip }))
 */
export async function sendEvents(
  presence: Presence,
  response: NodeResponse,
  options: EventStreamOptions,
): Promise<void> {
  checkOptionNames('sendEvents', options, names)
  response.writeHead(200, { ...eventStreamHeaders })
  let close: (() => void) | undefined
  let isClosed = false
  response.on('close', () => {
    isClosed = true
    close?.()
  })
  close = await connect(presence, options, {
    write: (text) => void response.write(text),
    buffered: () => response.writableLength,
    cut: () => void response.destroy(),
  }).catch((error) => {
    // The head was already sent, so no error status is possible; a client that is cut off reconnects.
    response.destroy()
    throw error
  })
  if (isClosed) close()
}

/**
 * The same as a `Response`, for Hono and other frameworks on fetch.
 *
 * @example app.get('/v1/stream', (c) => eventStream(presence, { channel: 'prices', id: user.id }))
 */
export function eventStream(presence: Presence, options: EventStreamOptions): Response {
  checkOptionNames('eventStream', options, names)
  const encoder = new TextEncoder()
  const queued = new ByteLengthQueuingStrategy({ highWaterMark: options.maxBufferedBytes ?? 1024 * 1024 })
  let close: (() => void) | undefined
  let isClosed = false
  const body = new ReadableStream<Uint8Array>(
    {
      async start(controller) {
        const room = controller.desiredSize ?? 0
        close = await connect(presence, options, {
          write: (text) => {
            if (!isClosed) controller.enqueue(encoder.encode(text))
          },
          buffered: () => room - (controller.desiredSize ?? room),
          cut: () => controller.error(new Error('the client is too slow')),
        })
        if (isClosed) close()
      },
      cancel() {
        isClosed = true
        close?.()
      },
    },
    queued,
  )
  return new Response(body, { headers: eventStreamHeaders })
}
