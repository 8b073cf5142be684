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
  readonly first?: readonly unknown[]
  /** The last message that the client has: those after it follow, as far as they are kept. */
  readonly lastEventId?: string | undefined
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
  lastEventId: true,
  clock: true,
})

/** The response of `node:http`, which Express, Fastify (`reply.raw`), Koa (`ctx.res`) and Nest provide too. */
export interface NodeResponse {
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown
  write(text: string): boolean
  end(): unknown
  destroy(): unknown
  readonly writableLength: number
  readonly destroyed?: boolean
  readonly closed?: boolean
  readonly writableEnded?: boolean
  readonly req?: { readonly method?: string | undefined; readonly headers?: Readonly<Record<string, unknown>> }
  on(event: 'close', listener: () => void): unknown
}

export const eventStreamHeaders: Readonly<Record<string, string>> = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  connection: 'keep-alive',
  // nginx would wait for the end of the response, which never comes.
  'x-accel-buffering': 'no',
})

/** A message in the format of event streams: `data: ` before each line. A text is sent as it is, all else as JSON. */
function eventText(message: unknown, info?: { readonly id: string; readonly event: string | undefined }): string {
  const text = typeof message === 'string' ? message : JSON.stringify(message)
  const id = info === undefined ? '' : `id: ${info.id}\n`
  const event = info?.event === undefined ? '' : `event: ${info.event}\n`
  return `${id}${event}data: ${text.replace(/\r\n?|\n/g, '\ndata: ')}\n\n`
}

/** How a stream reaches its client. */
interface Outlet {
  write(text: string): void
  buffered(): number
  cut(): void
}

/** A client that is connected. */
interface Connected {
  /** Settles when the client is a member of the channel. */
  readonly joined: Promise<void>
  close(): void
}

function connect(presence: Presence, options: EventStreamOptions, outlet: Outlet): Connected {
  const { channel, id, data, heartbeat = '15s', first = [], lastEventId, clock = systemClock() } = options
  const { maxBufferedBytes = 1024 * 1024 } = options
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
  const after = lastEventId === undefined ? {} : { after: lastEventId }
  const unsubscribe = presence.subscribe(channel, (message, info) => send(eventText(message, info)), after)
  const close = (): void => {
    if (isOver) return
    isOver = true
    stopHeartbeat()
    unsubscribe()
    membership?.leave()
  }
  const join = async (): Promise<void> => {
    try {
      membership = await presence.join(channel, id, data)
    } finally {
      if (membership === undefined) close()
      // The client may have disconnected while it was joining.
      else if (isOver) membership.leave()
    }
  }
  send(': welcome\n\n')
  for (const message of first) send(eventText(message))
  return { joined: join(), close }
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
  // A client that is gone already would never be noticed, and to one that asks for the head nothing is streamed.
  if (response.destroyed || response.closed || response.writableEnded) return
  response.writeHead(200, { ...eventStreamHeaders })
  if (response.req?.method === 'HEAD') {
    response.end()
    return
  }
  const sent = response.req?.headers?.['last-event-id']
  const lastEventId = options.lastEventId ?? (typeof sent === 'string' ? sent : undefined)
  try {
    const client = connect(
      presence,
      { ...options, lastEventId },
      {
        write: (text) => void response.write(text),
        buffered: () => response.writableLength,
        cut: () => void response.destroy(),
      },
    )
    response.on('close', client.close)
    await client.joined
  } catch (error) {
    // The head was already sent, so no error status is possible; a client that is cut off reconnects.
    response.destroy()
    throw error
  }
}

/**
 * The same as a `Response`, for Hono and other frameworks on fetch.
 *
 * @example app.get('/v1/stream', (c) => eventStream(presence, { channel: 'prices', id: user.id }))
 */
export function eventStream(presence: Presence, options: EventStreamOptions): Response {
  checkOptionNames('eventStream', options, names)
  const encoder = new TextEncoder()
  let client: Connected | undefined
  const body = new ReadableStream<Uint8Array>(
    {
      // Called when somebody reads: nobody does for a HEAD request, and what is never read is never cancelled either.
      pull(controller) {
        client ??= connect(presence, options, {
          write: (text) => controller.enqueue(encoder.encode(text)),
          buffered: () => -(controller.desiredSize ?? 0),
          cut: () => controller.error(new Error('the client is too slow')),
        })
        return client.joined
      },
      cancel: () => client?.close(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  )
  return new Response(body, { headers: eventStreamHeaders })
}
