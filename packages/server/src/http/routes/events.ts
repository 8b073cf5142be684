import type { FeedEvent } from '../../stats/live-feed.ts'
import { HttpProblem } from '../problem.ts'
import { readQuery } from '../read-query.ts'
import type { Routes } from '../router.ts'

const encoder = new TextEncoder()
/** Events a reader may lag behind before it misses some. */
const maxLag = 256

/**
 * `GET /v1/events`: what happens, as server-sent events. A slow reader misses events; memory stays bounded.
 */
export const eventsRoute: Routes = ({ admin }, { feed, page, isDraining }) => {
  admin.get('/v1/events', function events(c) {
    readQuery(c)
    if (feed.isFull) throw new HttpProblem(503, 'Too many are listening already.')
    if (isDraining()) throw new HttpProblem(503, 'The daemon is ending.')
    let close = (): void => {}
    const release = page.holdStream(c.env.incoming, () => close())
    let end = release
    const stream = new ReadableStream<Uint8Array>(
      {
        start(controller) {
          controller.enqueue(encoder.encode('retry: 2000\n\n'))
          const stop = feed.listen(
            (event) => {
              if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(textOf(event)))
            },
            () => close(),
          )
          end = () => {
            stop()
            release()
          }
          close = () => {
            end()
            controller.close()
          }
        },
        cancel: () => end(),
      },
      { highWaterMark: maxLag },
    )
    return new Response(stream, {
      headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
    })
  })
}

function textOf({ name, data }: FeedEvent): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
