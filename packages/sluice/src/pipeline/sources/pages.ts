import type { Clock } from '../../core/clock.ts'

/** How long a page of a stream waits to be filled, and how often a silent stream says that it is silent. */
const fillMs = 20
const silentMs = 1000

/** Pages of so many records; the last may be shorter. */
export async function* fullPages<T>(records: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let page: T[] = []
  for await (const record of records) {
    page.push(record)
    if (page.length < size) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

/** The same of records that come many at a time, which costs less. */
export async function* regrouped<T>(lists: AsyncIterable<Iterable<T>>, size: number): AsyncGenerator<T[]> {
  let page: T[] = []
  for await (const records of lists)
    for (const record of records) {
      page.push(record)
      if (page.length < size) continue
      yield page
      page = []
      // What comes next may take about a millisecond, such as to parse it: the sink is to have its batch before that.
      await new Promise((resolve) => setImmediate(resolve))
    }
  if (page.length > 0) yield page
}

/** Pages of at most so many records, of those that come within a moment; empty while none come. */
export async function* quickPages<T>(records: AsyncIterable<T>, size: number, clock: Clock): AsyncGenerator<T[]> {
  const iterator = records[Symbol.asyncIterator]()
  try {
    for (let next = iterator.next(); ; ) {
      const page: T[] = []
      const silent = timer(silentMs, clock)
      let result = await Promise.race([next, silent.passed])
      silent.cancel()
      const late = timer(fillMs, clock)
      while (result !== undefined && !result.done) {
        page.push(result.value)
        next = iterator.next()
        if (page.length === size) break
        result = await Promise.race([next, late.passed])
      }
      late.cancel()
      // Whoever stops reading does not wait for it.
      next.catch(() => undefined)
      yield page
      if (result?.done) return
    }
  } finally {
    void iterator.return?.()?.catch(() => undefined)
  }
}

function timer(ms: number, clock: Clock): { readonly passed: Promise<undefined>; readonly cancel: () => void } {
  let cancel = (): void => undefined
  const passed = new Promise<undefined>((resolve) => {
    const running = clock.setTimeout(() => resolve(undefined), ms)
    cancel = () => clock.clearTimeout(running)
  })
  return { passed, cancel }
}
