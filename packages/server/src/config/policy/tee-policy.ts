import type { PolicySource, SourcedDocument, SourceListener } from 'sluice'

/** One source for two readers. */
export interface TeedPolicy {
  /** Starts and closes the source. */
  readonly first: PolicySource
  /** Follows what the first reader was given; it starts after the first. */
  readonly second: PolicySource
}

/** Lets two readers follow one source, so that it is watched once and both see the same versions. */
export function teePolicy(source: PolicySource): TeedPolicy {
  let newest: SourcedDocument | undefined
  let follower: SourceListener | undefined
  const about = {
    description: source.description,
    ...(source.service === undefined ? {} : { service: source.service }),
  }
  return {
    first: {
      ...about,
      async start(listener) {
        newest = await source.start({
          changed(document) {
            const isTaken = listener.changed(document)
            if (isTaken) {
              newest = document
              follower?.changed(document)
            }
            return isTaken
          },
          failed(error) {
            listener.failed(error)
            follower?.failed(error)
          },
          emptied() {
            listener.emptied?.()
            follower?.emptied?.()
          },
          recovered() {
            listener.recovered()
            follower?.recovered()
          },
        })
        return newest
      },
      close: () => source.close(),
    },
    second: {
      ...about,
      async start(listener) {
        follower = listener
        if (newest === undefined) throw new Error(`${source.description} has not been read yet`)
        return newest
      },
      async close() {
        follower = undefined
      },
    },
  }
}
