import { createEgress } from '../../packages/sluice/src/egress/create-egress.ts'
import { virtualClock } from '../../packages/sluice/src/testing/virtual-clock.ts'
import { dot, line, picture, text, width } from './svg.ts'

const arrivalMs = 150
const calls = 12
const untilMs = 2800
/** How long each request is on its way to the vendor: anything up to the bound. */
const onTheWayMs = [20, 140, 60, 100, 30, 10, 120, 90, 45, 130, 70, 15]

/** Twelve calls at once, with 4 per second allowed: when each was sent. */
async function sentAt(): Promise<number[]> {
  const clock = virtualClock()
  const egress = await createEgress({
    clock,
    policy: { service: 'ingest', upstreams: [{ name: 'vendor', limits: { rps: 4 }, arrival: `${arrivalMs}ms` }] },
  })
  const startMs = clock.monotonic()
  const sent: number[] = []
  let answered = 0
  /** The vendor answers late, so that only the bound says when a call has arrived. */
  const call = async (): Promise<void> => {
    sent.push(clock.monotonic() - startMs)
    await new Promise<void>((resolve) => clock.setTimeout(resolve, 500))
    answered++
  }
  const all = Promise.all(Array.from({ length: calls }, () => egress.run('vendor', call)))
  while (answered < calls) await clock.advance(10)
  await all
  await egress.close()
  return sent
}

const left = 60
const xOf = (ms: number): number => left + (ms / untilMs) * (width - left - 14)
const top = 62
const row = 14
const base = top + calls * row + 8

export async function egressPicture(): Promise<string> {
  const sent = await sentAt()
  const arrived = sent.map((ms, index) => ms + onTheWayMs[index]!)
  const counted = arrived.map((ms) => arrived.filter((other) => other > ms - 1000 && other <= ms).length)
  const yOf = (call: number): number => top + call * row
  return picture(base + 84, 'Twelve calls at once, 4 per second allowed', [
    text(14, 44, 'A line: from when a call was sent to when it has arrived at the latest.', { as: 'soft small' }),
    ...[0, 1000, 2000].flatMap((ms) => [
      line('grid', xOf(ms), top - 8, xOf(ms), base),
      text(xOf(ms), base + 15, `${ms / 1000} s`, { as: 'soft small', anchor: 'middle' }),
    ]),
    ...sent.flatMap((ms, call) => [
      line('span', xOf(ms), yOf(call), xOf(ms + arrivalMs), yOf(call)),
      dot('pass', xOf(arrived[call]!), yOf(call), 4),
      text(left - 10, yOf(call) + 4, `call ${call + 1}`, { as: 'soft small', anchor: 'end' }),
    ]),
    dot('pass', 20, base + 34, 4),
    text(30, base + 38, `really arrived: at most ${Math.max(...counted)} in any second`, { as: 'small' }),
    text(14, base + 58, 'A call is granted when fewer than 4 can have arrived within the last', { as: 'small' }),
    text(14, base + 74, 'second, whatever order they arrive in.', { as: 'small' }),
  ])
}
