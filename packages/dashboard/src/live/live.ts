import { createValue, type Value } from '../hooks/value.ts'
import { type Entry, type Hello, noTimeline, type Timeline, withEntries, withHello } from './entries.ts'

/** The state of the stream, for display. `held`: the daemon answers, and its stream does not arrive. */
export type Connection = 'connecting' | 'live' | 'lost' | 'held'

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
 * everything, the daemon hangs. So silence counts as lost too, and another connection is opened. `answers` asks the
 * daemon something else: if it answers that, while a connection brings nothing at all, a proxy holds the stream back.
 */
export function followLive(answers: () => Promise<boolean>): () => void {
  let source: EventSource | undefined
  let lastId = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  let heardMs = Date.now()
  let hasHeard = false
  const hear = (): void => {
    heardMs = Date.now()
    hasHeard = true
  }
  const open = (): void => {
    heardMs = Date.now()
    hasHeard = false
    source = new EventSource(`./v1/live${lastId === '' ? '' : `?after=${encodeURIComponent(lastId)}`}`)
    source.addEventListener('hello', (event) => {
      hear()
      const hello = JSON.parse(event.data) as Hello
      live.timeline.set(withHello(live.timeline.get(), live.hello.get(), hello, Date.now()))
      live.hello.set(hello)
      live.connection.set('live')
    })
    source.addEventListener('entries', (event) => {
      hear()
      lastId = event.lastEventId
      live.timeline.set(withEntries(live.timeline.get(), JSON.parse(event.data) as Entry[]))
    })
    source.addEventListener('error', () => {
      live.connection.set('lost')
      if (source?.readyState !== EventSource.CLOSED) return
      timer = setTimeout(open, againMs)
      void answers()
    })
  }
  const watch = setInterval(() => {
    if (Date.now() - heardMs < silentMs || source?.readyState === EventSource.CLOSED) return
    const wasDeaf = !hasHeard
    if (live.connection.get() !== 'held') live.connection.set('lost')
    source?.close()
    open()
    if (wasDeaf) void answers().then((isThere) => !hasHeard && live.connection.set(isThere ? 'held' : 'lost'))
  }, 1000)
  open()
  return () => {
    clearInterval(watch)
    clearTimeout(timer)
    source?.close()
  }
}
