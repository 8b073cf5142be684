import { expect, test } from 'vitest'
import { processParts } from '../runtime/process-parts.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createCapacity } from './create-capacity.ts'
import { createIngest } from './ingest/create-ingest.ts'

const reported = (kind: string) => processParts().filter((part) => part.kind === kind)

test('a capacity is ready while shippers may send, and warns while requests are shed', async () => {
  const clock = virtualClock()
  let load = 10
  await using capacity = await createCapacity({ clock, process: false, load: () => load, retryAfter: 60_000 })
  await clock.advance('10s')
  expect(await capacity.health()).toEqual({ ready: true, reasons: [], warnings: [] })
  load = 100
  await clock.advance('10s')
  expect(await capacity.health()).toEqual({
    ready: false,
    reasons: ['The load is 100% (own measure 100%); shippers are told to wait.'],
    warnings: ['The load is 100% (own measure 100%); 2% of the requests are let through.'],
  })
  expect(capacity.answer('a')).toMatchObject({ ready: false, retryAfter: 60 })
})

test('a closed capacity is neither reported nor ready, and tells shippers so', async () => {
  const capacity = await createCapacity({ process: false })
  expect(reported('capacity').map((part) => part.stats())).toEqual([capacity.stats()])
  await capacity.close({ within: '1s' })
  await capacity.close()
  expect(reported('capacity')).toEqual([])
  expect(capacity.answer('a')).toMatchObject({ ready: false })
  expect(await capacity.health()).toMatchObject({ ready: false, reasons: ['The capacity is closed.'] })
  await expect(capacity.close({ drain: 1 } as never)).rejects.toThrow('capacity.close.drain is 1')
})

test('an event that does not exist is refused', async () => {
  await using capacity = await createCapacity({ process: false })
  expect(() => capacity.on('measure' as never, () => {})).toThrow('did you mean "measured"')
  await using ingest = await createIngest({ accept: () => {} })
  expect(() => ingest.on('receive' as never, () => {})).toThrow('did you mean "received"')
})

test('an ingest that closes waits for what is being stored, and answers 503 to the rest', async () => {
  let stored = (): void => undefined
  const ingest = await createIngest({ accept: () => new Promise<void>((resolve) => (stored = resolve)) })
  const batch = { events: [{ id: 'a-1', data: 1 }] }
  const first = ingest.receive(batch)
  await Promise.resolve()
  let isClosed = false
  const closing = ingest.close().then(() => (isClosed = true))
  expect(await ingest.receive(batch)).toMatchObject({ status: 503 })
  expect(isClosed).toBe(false)
  stored()
  expect(await first).toMatchObject({ status: 200, body: { results: [{ id: 'a-1', status: 'ok' }] } })
  await closing
  expect(reported('ingest')).toEqual([])
})

test('an ingest that closes does not wait for longer than it may', async () => {
  const clock = virtualClock()
  const ingest = await createIngest({ accept: () => new Promise<void>(() => {}), clock })
  void ingest.receive({ events: [{ id: 'a-1', data: 1 }] })
  const closing = ingest.close({ within: '2s' })
  await clock.advance('2s')
  await closing
})

test('an ingest tells what became of each batch, and why one failed', async () => {
  const seen: unknown[] = []
  const full = new Error('the disk is full')
  await using ingest = await createIngest({
    accept(events) {
      if (events[0]!.data === 'fail') throw full
    },
  })
  for (const name of ['received', 'refused', 'failed'] as const) ingest.on(name, (event) => seen.push([name, event]))
  await ingest.receive({ events: [{ id: 'a-1', data: 1 }] })
  await ingest.receive({ events: [{ id: 'a-1', data: 1 }] })
  await ingest.receive({})
  await ingest.receive({ events: [{ id: 'a-2', data: 'fail' }] })
  const none = { accepted: 0, duplicates: 0, retried: 0, rejected: 0 }
  expect(seen).toEqual([
    ['received', { ...none, accepted: 1 }],
    ['received', { ...none, duplicates: 1 }],
    ['refused', { reason: 'the body must be { "events": [{ "id", "data" }] }' }],
    ['failed', { events: 1, error: full }],
  ])
})

test('an ingest is ready while its ids can be remembered', async () => {
  let isReachable = true
  const clock = virtualClock()
  const ids = { claim: async () => [], finish: async () => {}, release: async () => {}, close: async () => {} }
  await using ingest = await createIngest({
    accept: () => {},
    ids: { ...ids, isReachable: async () => isReachable },
    clock,
  })
  expect(await ingest.health()).toEqual({ ready: true, reasons: [], warnings: [] })
  isReachable = false
  await clock.advance('1s')
  expect(await ingest.health()).toMatchObject({
    ready: false,
    reasons: ['Redis, which remembers the ids of events, does not answer; batches are answered by 503.'],
  })
})
