import { createValue, type Value } from '../hooks/value.ts'
import { type Entry, type Hello, noTimeline, type Timeline, withEntries, withHello } from './entries.ts'

/** The state of the stream, for display. */
export type Connection = 'connecting' | 'live' | 'lost'

/** The stream of the daemon. One for the whole page: it continues while the reader changes pages. */
export const live: {
  readonly connection: Value<Connection>
  readonly hello: Value<Hello | undefined>
  readonly timeline: Value<Timeline>
} = {
  connection: createValue<Connection>('connecting'),
  hello: createValue<Hello | undefined>(undefined),
  timeline: createValue<Timeline>(noTimeline),
}

/** After a stream that was refused, the browser does not reconnect by itself. */
const againMs = 2000
/** The daemon sends something each second, after 7 at the latest. Silence for longer is a connection that is lost. */
const silentMs = 10_000

/**
 * Follows the daemon until the returned function is called. The id of the last message lets the daemon send what was
 * missed, once; a daemon that does not recognise the id sends everything, and the old seconds of another process stay,
 * as they belong to the same service. A connection can be lost without an end: the computer slept, the network drops
 * everything, the daemon hangs. So silence counts as lost too, and another connection is opened.
 */
export function followLive(ended: () => void): () => void {
  let source: EventSource | undefined
  let lastId = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  let heardMs = Date.now()
  const open = (): void => {
    heardMs = Date.now()
    source = new EventSource(`./v1/live${lastId === '' ? '' : `?after=${encodeURIComponent(lastId)}`}`)
    source.addEventListener('hello', (event) => {
      heardMs = Date.now()
      const hello = JSON.parse(event.data) as Hello
      live.timeline.set(withHello(live.timeline.get(), live.hello.get(), hello, Date.now()))
      live.hello.set(hello)
      live.connection.set('live')
    })
    source.addEventListener('entries', (event) => {
      heardMs = Date.now()
      lastId = event.lastEventId
      live.timeline.set(withEntries(live.timeline.get(), JSON.parse(event.data) as Entry[]))
    })
    source.addEventListener('error', () => {
      live.connection.set('lost')
      if (source?.readyState !== EventSource.CLOSED) return
      timer = setTimeout(open, againMs)
      ended()
    })
  }
  const watch = setInterval(() => {
    if (Date.now() - heardMs < silentMs || source?.readyState === EventSource.CLOSED) return
    live.connection.set('lost')
    source?.close()
    open()
  }, 1000)
  open()
  return () => {
    clearInterval(watch)
    clearTimeout(timer)
    source?.close()
  }
}
