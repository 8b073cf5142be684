import { createLimiter } from '../../packages/sluice/src/index.ts'
import { type VirtualClock, virtualClock } from '../../packages/sluice/src/testing/virtual-clock.ts'
import { line, picture, rect, round, text, width } from './svg.ts'

const amount = 10
const steps = 120
const periods = 3

/** How many requests come in a step; a period has 40 of them. */
type Demand = (step: number) => number
/** The first request begins the window; then twelve just before its end and twelve just after it. */
const boundary: Demand = (step) => (step === 38 || step === 42 ? 12 : step === 0 ? 1 : 0)
/** Six at once, five times in each period. */
const bursts: Demand = (step) => (step % 8 === 0 ? 6 : 0)

interface Asked {
  readonly passed: number
  readonly refused: number
  /** What counts against the limit: passed within the last period, or in flight. */
  readonly counted: number
}

interface Drawn {
  readonly title: string
  readonly limit: object
  readonly periodMs: number
  /** How the time of `n` periods is called. */
  readonly tick: (n: number) => string
  readonly counts: string
  /** For a limit of what is in flight: for how many steps one is. */
  readonly holdSteps?: number
}

async function run({ limit, periodMs, holdSteps }: Drawn, demand: Demand): Promise<Asked[]> {
  const clock: VirtualClock = virtualClock()
  const limiter = await createLimiter({ limits: { amount, ...limit }, clock, denyCache: false })
  const asked: Asked[] = []
  const ends: { step: number; release: () => Promise<unknown> }[] = []
  for (let step = 0; step < steps; step++) {
    for (const each of ends.filter((end) => end.step === step)) await each.release()
    let passed = 0
    const wanted = demand(step)
    for (let i = 0; i < wanted; i++) {
      const decision = holdSteps === undefined ? await limiter.take('client') : await limiter.acquire('client')
      if (!decision.allowed) continue
      passed++
      if (holdSteps !== undefined && 'release' in decision)
        ends.push({ step: step + holdSteps, release: () => decision.release() })
    }
    const within = asked.slice(holdSteps === undefined ? -39 : 1 - holdSteps)
    asked.push({ passed, refused: wanted - passed, counted: within.reduce((sum, each) => sum + each.passed, passed) })
    await clock.advance(periodMs / 40)
  }
  await limiter.close()
  return asked
}

const left = 34
const perUnit = 5
const xOf = (step: number): number => left + (step / steps) * (width - left - 14)

function panel(asked: readonly Asked[], base: number, label: string, { tick, counts }: Drawn): string[] {
  const yOf = (count: number): number => base - count * perUnit
  const bars = asked.flatMap(({ passed, refused }, step) => [
    ...(passed > 0 ? [rect('pass', xOf(step), yOf(passed), 5, passed * perUnit)] : []),
    ...(refused > 0 ? [rect('deny', xOf(step), yOf(passed + refused), 5, refused * perUnit)] : []),
  ])
  const most = Math.max(...asked.map(({ counted }) => counted))
  const points = asked.map(({ counted }, step) => `${round(xOf(step))},${yOf(counted)}`).join(' ')
  return [
    text(14, base - 106, `${label}: at most ${most} ${counts}`),
    ...Array.from({ length: periods + 1 }, (_, n) => [
      line('grid', xOf(n * 40), base - 96, xOf(n * 40), base),
      text(xOf(n * 40), base + 16, tick(n), { as: 'soft small', anchor: n === periods ? 'end' : 'middle' }),
    ]).flat(),
    line('grid', left, base, width - 14, base),
    line('top', left, yOf(amount), width - 14, yOf(amount)),
    text(left - 6, yOf(amount) + 4, String(amount), { as: 'small', anchor: 'end' }),
    ...bars,
    `<polyline class="sum" points="${points}"/>`,
  ]
}

async function drawn(what: Drawn): Promise<string> {
  const legend = [
    [14, 'pass', 'passed'],
    [96, 'deny', 'refused'],
    [180, 'mark', what.counts.replace(/^in one/, 'passed in the last')],
    [402, 'limit', 'the limit'],
  ] as const
  return picture(344, what.title, [
    ...panel(await run(what, boundary), 150, 'Around a boundary', what),
    ...panel(await run(what, bursts), 294, 'Six at a time', what),
    ...legend.flatMap(([x, as, name]) => [rect(as, x, 323, 11, 11, 2), text(x + 16, 333, name, { as: 'small' })]),
  ])
}

const seconds = { periodMs: 1000, tick: (n: number) => `${n} s`, counts: 'in one second' }
const days = { periodMs: 86_400_000, tick: (n: number) => `day ${n + 1}`, counts: 'in one day' }

export const algorithmPictures = async (): Promise<Record<string, string>> => ({
  'fixed-window': await drawn({
    ...seconds,
    title: 'fixed-window, 10 per second',
    limit: { per: '1s', algorithm: 'fixed-window' },
  }),
  'sliding-window': await drawn({
    ...seconds,
    title: 'sliding-window, 10 per second',
    limit: { per: '1s', algorithm: 'sliding-window' },
  }),
  'sliding-log': await drawn({
    ...seconds,
    title: 'sliding-log, 10 per second',
    limit: { per: '1s', algorithm: 'sliding-log' },
  }),
  'gcra-burst': await drawn({
    ...seconds,
    title: 'gcra, 10 per second, burst 5',
    limit: { per: '1s', algorithm: 'gcra', burst: 5 },
  }),
  calendar: await drawn({ ...days, title: 'calendar, 10 per day', limit: { per: 'day' } }),
  'calendar-pace': await drawn({
    ...days,
    title: 'calendar, 10 per day with pace, burst 3',
    limit: { per: 'day', pace: { burst: 3 } },
  }),
  concurrency: await drawn({
    ...seconds,
    title: 'concurrency, 10 at a time; each takes 0.6 s',
    limit: { algorithm: 'concurrency' },
    counts: 'in flight',
    holdSteps: 24,
  }),
})
