import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ModelFiles, modelFiles } from '../../testing/shipper/model-files.ts'
import { type VirtualClock, virtualClock } from '../../testing/virtual-clock.ts'
import { createShipper } from '../create-shipper.ts'
import { thisProcess } from '../owner/process-identity.ts'
import { rejectedFiles } from '../rejected/rejected-file.ts'
import type { Shipper } from '../shipper.ts'
import type { OutgoingEvent, SendResult } from './transport.ts'

const maxRefusals = 5
const batch = 12

/** `poison`: one event in seven is never accepted. `sticky`: one in nine is always wanted again. */
type Mode = 'ok' | 'refuse' | 'reject' | 'down' | 'retry' | 'poison' | 'poison-batch' | 'sticky'
const modes: readonly Mode[] = ['ok', 'refuse', 'reject', 'down', 'retry', 'poison', 'poison-batch', 'sticky']

interface Step {
  readonly mode: Mode
  readonly stored: number
  readonly passes: number
  /** After how many steps of the disk the process is killed; undefined for a restart in order, null for none. */
  readonly crashAfter: number | undefined | null
}

const numberOf = ({ data }: OutgoingEvent) => (data as { n: number }).n
const isBad = (event: OutgoingEvent) => numberOf(event) % 7 === 3
const isSticky = (event: OutgoingEvent) => numberOf(event) % 9 === 4

/** The server, and what it knows about the shipper's promise. */
class ModelServer {
  mode: Mode = 'ok'
  readonly accepted = new Map<string, number>()
  /** Refused by answers that accepted nothing, since it last accepted something. */
  readonly refusedInRow = new Set<string>()
  /** What had been set aside when the row began: a crash may leave an event in the buffer and in a file. */
  #asideBefore = new Map<string, number>()
  #hasAccepted = false
  readonly wrong: string[] = []
  /** How often each event was set aside. */
  setAside: () => Map<string, number> = () => new Map()

  send = async (events: readonly OutgoingEvent[]): Promise<SendResult> => {
    // Only now is everything recorded that the answer before decided.
    if (this.#hasAccepted) this.#asideBefore = this.setAside()
    this.#hasAccepted = false
    const all = (status: 'ok' | 'retry' | 'rejected') => this.#each(events, () => status)
    switch (this.mode) {
      case 'ok':
        return all('ok')
      case 'down':
        return { status: 500 }
      case 'retry':
        return all('retry')
      case 'reject':
        return all('rejected')
      case 'poison':
        return this.#each(events, (event) => (isBad(event) ? 'rejected' : 'ok'))
      case 'sticky':
        return this.#each(events, (event) => (isSticky(event) ? 'retry' : 'ok'))
      case 'refuse':
        return this.#refuse(events)
      case 'poison-batch':
        return events.some(isBad) ? this.#refuse(events) : all('ok')
    }
  }

  /** Never more set aside than allowed while the server accepts none. */
  check(): void {
    const aside = this.setAside()
    const added = (id: string): number => Math.max(0, (aside.get(id) ?? 0) - (this.#asideBefore.get(id) ?? 0))
    const inRow = [...this.refusedInRow].reduce((sum, id) => sum + added(id), 0)
    if (inRow > maxRefusals) this.wrong.push(`${inRow} set aside in a row while the server was ${this.mode}`)
  }

  #refuse(events: readonly OutgoingEvent[]): SendResult {
    if (events.length === 1) this.refusedInRow.add(events[0]!.id)
    return { status: 400 }
  }

  #each(events: readonly OutgoingEvent[], decide: (event: OutgoingEvent) => 'ok' | 'retry' | 'rejected'): SendResult {
    const results = events.map((event) => ({ id: event.id, status: decide(event) }))
    if (results.some(({ status }) => status === 'ok')) {
      this.check()
      this.refusedInRow.clear()
      this.#hasAccepted = true
    } else for (const { id } of results) this.refusedInRow.add(id)
    for (const { id, status } of results) {
      if (status === 'ok') this.accepted.set(id, (this.accepted.get(id) ?? 0) + 1)
    }
    return { results }
  }
}

let pid = 5_000_000

async function open(fs: ModelFiles, clock: VirtualClock, server: ModelServer): Promise<Shipper> {
  server.setAside = () => {
    const names = [...fs.files.keys()].map((path) => path.slice('/buffer/'.length))
    const lines = rejectedFiles(names).flatMap((name) => fs.files.get(`/buffer/${name}`)!.data.toString().split('\n'))
    const times = new Map<string, number>()
    for (const line of lines) {
      const id = /^\{"id":"([0-9a-f]+-\d+)",.*\}$/.exec(line)?.[1]
      if (id !== undefined) times.set(id, (times.get(id) ?? 0) + 1)
    }
    return times
  }
  return createShipper({
    ...{ dir: '/buffer', fs, clock, flushInterval: false, backoff: { base: 0 }, maxRefusals, maxRetries: 3 },
    // A process that no longer exists, so that what it held can be taken over.
    identity: { ...thisProcess(), pid: pid++, started: 1 },
    send: server.send,
    capacity: async () => ({ ready: true, maxBatchSize: batch, delayBetweenBatches: 10 }),
  })
}

async function settled<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  over.catch(() => undefined)
  while (!isOver) await clock.advance(5000)
  return over
}

const steps = fc.array(
  fc.record<Step>({
    mode: fc.constantFrom(...modes),
    stored: fc.nat(40),
    passes: fc.integer({ min: 1, max: 4 }),
    crashAfter: fc.oneof(fc.constant(null), fc.constant(undefined), fc.nat(120)),
  }),
  { minLength: 1, maxLength: 6 },
)

/** One that was set aside beside accepted ones, and is still in the buffer after a crash, is refused again. */
const refusedAgain: Step[] = [
  { mode: 'poison', stored: 11, passes: 1, crashAfter: 12 },
  { mode: 'reject', stored: 0, passes: 1, crashAfter: null },
  { mode: 'ok', stored: 0, passes: 1, crashAfter: null },
]

test('never sets more aside than allowed while the server accepts none; loses nothing, doubles nothing', async () => {
  const claim = fc.asyncProperty(steps, async (history) => {
    let fs = modelFiles()
    const [clock, server, acknowledged] = [virtualClock(), new ModelServer(), new Set<string>()]
    let shipper = await open(fs, clock, server)
    let n = 0
    for (const { mode, stored, passes, crashAfter } of history) {
      const shipped = Array.from({ length: stored }, () => shipper.ship({ n: n++ }))
      for (const id of await settled(clock, Promise.all(shipped))) acknowledged.add(id)
      server.mode = mode
      if (typeof crashAfter === 'number') fs.crashAt = fs.steps + crashAfter
      for (let pass = 0; pass < passes; pass++) await settled(clock, shipper.flush()).catch(() => undefined)
      server.check()
      if (crashAfter === null) continue
      await settled(clock, shipper.close()).catch(() => undefined)
      if (crashAfter !== undefined) fs = fs.afterCrash('drop')
      shipper = await open(fs, clock, server)
      server.check()
    }
    server.mode = 'ok'
    expect(await settled(clock, shipper.flush())).toMatchObject({ outcome: 'drained', pending: 0 })
    await settled(clock, shipper.close())
    expect(server.wrong).toEqual([])
    const aside = server.setAside()
    expect([...acknowledged].filter((id) => !server.accepted.has(id) && !aside.has(id))).toEqual([])
    const crashes = history.filter(({ crashAfter }) => typeof crashAfter === 'number').length
    // What stands behind an event to retry is only recorded with it, so a failure meanwhile sends it again.
    const resent = history.filter(({ mode }) => mode === 'sticky').reduce((sum, { passes }) => sum + passes, 0)
    const repeated = [...server.accepted.values()].reduce((sum, times) => sum + times - 1, 0)
    expect(repeated).toBeLessThanOrEqual((crashes + resent) * batch)
    // Only a crash between two records leaves an event with the server and in a file.
    if (crashes === 0) expect([...aside.keys()].filter((id) => server.accepted.has(id))).toEqual([])
  })
  const numRuns = Number(process.env.SLUICE_REFUSAL_RUNS ?? 60)
  await fc.assert(claim, { numRuns, examples: [[refusedAgain]] })
}, 120_000)
