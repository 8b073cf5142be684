import type { LiveEntry } from '../../../shapes/page.ts'
import { HttpProblem } from '../../problem.ts'
import type { Routes } from '../../router.ts'

const encoder = new TextEncoder()
/** Messages a reader may lag behind. One that is slower is cut off, and resumes by its id. */
const maxLag = 64

/**
 * `GET /v1/live`: the last 15 minutes by the second and what happened in them, and then everything as it comes. Whoever
 * comes back with the id of the last message (`Last-Event-ID`, or `?after=`) gets what it missed, once.
 */
export const liveRoute: Routes = ({ read }, { live, limiter, page, reports, startedAt, isDraining }) => {
  read.get('/v1/live', function stream(c) {
    const after = c.req.query('after')
    if (live.isFull) throw new HttpProblem(503, 'Too many are watching already.')
    if (isDraining()) throw new HttpProblem(503, 'The daemon is ending.')
    let close = (): void => {}
    const release = page.holdStream(c.env.incoming, () => close())
    let end = release
    const body = new ReadableStream<Uint8Array>(
      {
        start(controller) {
          const send = (name: string, data: unknown, id?: string): void =>
            controller.enqueue(
              encoder.encode(
                `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`,
              ),
            )
          const { resumed, id, entries } = live.log.since(c.req.header('last-event-id') ?? after)
          const { epoch } = live.log
          const { service } = limiter.policy
          controller.enqueue(encoder.encode('retry: 1000\n\n'))
          send('hello', { epoch, replica: reports.replica, service, resumed, startedAt: startedAt.getTime() })
          send('entries', entries, id)
          close = () => {
            end()
            controller.close()
          }
          const listener = (added: readonly LiveEntry[], last: string): void => {
            if ((controller.desiredSize ?? 0) <= 0) close()
            else send('entries', added, last)
          }
          const [stop, leave] = [live.log.listen(listener), live.watch(close)]
          end = () => {
            stop()
            leave()
            release()
          }
        },
        cancel: () => end(),
      },
      { highWaterMark: maxLag },
    )
    return new Response(body, {
      headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
    })
  })
}
