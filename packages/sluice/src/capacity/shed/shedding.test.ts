import express from 'express'
import { describe, expect, it } from 'vitest'
import { allOf } from '../../admission/all-of.ts'
import { protect as protectExpress } from '../../http/express/index.ts'
import { protect as protectFetch } from '../../http/fetch/index.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { answering } from '../answering.ts'
import { createCapacity } from '../create-capacity.ts'
import { AdmissionController } from './admission-controller.ts'
import { shedding } from './shedding.ts'

/** Evenly spread numbers between 0 and 1, without randomness. */
function spread(): () => number {
  let n = 0
  return () => (n = (n + 0.618034) % 1)
}

describe('the controller', () => {
  it('lets everything through while the load is below 80', () => {
    const controller = new AdmissionController(() => 0.999)
    for (let i = 0; i < 100; i++) controller.adjust(79)
    expect(controller.admit('bulk')).toBe(true)
    expect(controller.share).toBe(1)
  })

  it('sheds bulk before normal and normal before critical', () => {
    const controller = new AdmissionController(spread())
    for (let round = 0; round < 12; round++) {
      for (let i = 0; i < 30; i++) for (const each of ['critical', 'normal', 'bulk'] as const) controller.admit(each)
      controller.adjust(round < 5 ? 90 : 75)
    }
    expect(controller.share).toBeGreaterThanOrEqual(0.85 ** 5)
    expect(controller.share).toBeLessThan(0.6)
    expect(controller.chanceOf('critical')).toBe(1)
    expect(controller.chanceOf('normal')).toBeGreaterThan(controller.chanceOf('bulk'))
    expect(controller.chanceOf('bulk')).toBeGreaterThan(0)
  })

  it('never sheds everything, and lets all through again after the overload', () => {
    const controller = new AdmissionController(spread())
    for (let i = 0; i < 1000; i++) {
      controller.admit('normal')
      controller.adjust(100)
    }
    let admitted = 0
    for (let i = 0; i < 1000; i++) if (controller.admit('normal')) admitted++
    expect(admitted).toBeGreaterThan(5)
    expect(admitted).toBeLessThan(100)
    for (let i = 0; i < 80; i++) controller.adjust(10)
    expect(controller.share).toBe(1)
  })

  it.each([80, 79, 75, 71])('sheds nothing any more when a load of %i lasts, but recovers faster below 70', (load) => {
    const [controller, quiet] = [new AdmissionController(spread()), new AdmissionController(spread())]
    for (let i = 0; i < 1000; i++) for (const each of [controller, quiet]) each.adjust(100)
    let samples = 0
    for (; controller.share < 1 && samples < 10_000; samples++) controller.adjust(load)
    expect(controller.share).toBe(1)
    for (let i = 0; i < samples / 4; i++) quiet.adjust(69)
    expect(quiet.share).toBe(1)
  })
})

async function overloaded() {
  const clock = virtualClock()
  let load = 100
  const capacity = await createCapacity({ clock, process: false, load: () => load, random: spread() })
  await clock.advance('10s')
  return { clock, capacity, setLoad: (value: number) => (load = value) }
}

describe('the guard', () => {
  it('answers 503 with Retry-After and a problem, and passes what it admits', async () => {
    const { capacity } = await overloaded()
    const handler = protectFetch(shedding(capacity), () => new Response('done'))
    const answers = await Promise.all(Array.from({ length: 200 }, () => handler(new Request('http://a.test/x'))))
    const shed = answers.filter(({ status }) => status === 503)
    expect(shed.length).toBeGreaterThan(150)
    expect(shed.length).toBeLessThan(200)
    expect(Number(shed[0]!.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await shed[0]!.json()).toMatchObject({ status: 503, type: expect.stringContaining('reduced-capacity') })
    await capacity.close()
  })

  it('counts what is in flight, and nothing for what it shed', async () => {
    const { capacity } = await overloaded()
    const guard = shedding(capacity)
    const view = { method: 'GET', path: '/', headers: {} }
    const outcomes = await Promise.all(Array.from({ length: 300 }, () => guard.decide(view, undefined)))
    const admitted = outcomes.filter(({ denial }) => denial === undefined)
    expect(capacity.stats().inFlight).toBe(admitted.length)
    for (const { finish } of admitted) {
      finish!({ status: 200, bytes: 0, completed: true })
      finish!({ status: 200, bytes: 0, completed: true })
    }
    expect(capacity.stats().inFlight).toBe(0)
    await capacity.close()
  })

  it('decides as usual where `skip` or `priority` throw', async () => {
    const capacity = await createCapacity({ process: false })
    const fail = (): never => {
      throw new Error('not today')
    }
    const guard = shedding(capacity, { skip: fail, priority: fail })
    expect((await guard.decide({ method: 'GET', path: '/', headers: {} }, undefined)).denial).toBeUndefined()
    expect(capacity.stats()).toMatchObject({ inFlight: 1, admitted: { normal: 1 } })
    await capacity.close()
  })

  it('ignores what `skip` selects, and follows the priority', async () => {
    const { capacity } = await overloaded()
    const guard = shedding(capacity, {
      skip: ({ path }) => path === '/health',
      priority: ({ headers }) => headers.priority as never,
    })
    const of = (path: string, priority: string) =>
      guard.decide({ method: 'GET', path, headers: { priority } }, undefined)
    for (let i = 0; i < 50; i++) expect((await of('/health', 'bulk')).denial).toBeUndefined()
    const count = { critical: 0, bulk: 0 }
    for (let i = 0; i < 500; i++) {
      for (const each of ['critical', 'bulk'] as const) if ((await of('/', each)).denial === undefined) count[each]++
    }
    expect(count.critical).toBeGreaterThan(count.bulk)
    await capacity.close()
  })
})

describe('the capacity endpoint', () => {
  it('is answered before the handler on every framework that has an adapter', async () => {
    const capacity = await createCapacity({ process: false })
    const app = express()
    app.use(express.json())
    app.use(protectExpress(allOf(answering(capacity, '/v1/events/capacity'), shedding(capacity))))
    app.use((_, response) => void response.send('handler'))
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    try {
      const ask = (shipper: string) =>
        fetch(`http://127.0.0.1:${port}/v1/events/capacity`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ shipper, pending: 5 }),
        })
      const first = await ask('a')
      expect(first.status).toBe(200)
      expect(await first.json()).toMatchObject({ ready: true, maxBatchSize: 100, delayBetweenBatches: 100 })
      expect(await (await ask('b')).json()).toMatchObject({ delayBetweenBatches: 200 })
      expect(await (await ask('b')).json()).toMatchObject({ delayBetweenBatches: 200 })
      expect(await (await fetch(`http://127.0.0.1:${port}/other`)).text()).toBe('handler')
      expect(await (await fetch(`http://127.0.0.1:${port}/v1/events/capacity`)).text()).toBe('handler')
    } finally {
      server.close()
      server.closeAllConnections()
      await capacity.close()
    }
  })
})
