import { count } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'
import { baseRateFrom, offerFrom } from './clients.ts'
import type { Outcome } from './offer.ts'
import { startService } from './service.ts'

/** A client aborts after this. */
const deadlineMs = 500
const multiples = [0.7, 1, 2, 5] as const

interface Goodput extends Outcome {
  readonly multiple: number
  readonly shedding: boolean
  /** The measured capacity just before. */
  readonly base: number
}

/**
 * Answers within the deadline per second, at several times the capacity of the service, with and without the guard.
 * `reconnect`: clients open a connection for each request.
 */
export async function benchGoodput(seconds: number, reconnect: boolean): Promise<CaseResult[]> {
  const rows: Goodput[] = []
  for (const multiple of multiples) {
    for (const shedding of [false, true]) {
      progress(`capacity: ${multiple}x ${shedding ? 'with' : 'without'} shedding${reconnect ? ', reconnecting' : ''}`)
      rows.push(await measure(multiple, shedding, seconds, reconnect))
    }
  }
  const rowOf = (multiple: number, shedding: boolean): Goodput | undefined =>
    rows.find((row) => row.multiple === multiple && row.shedding === shedding)
  const shareOf = (row: Goodput | undefined): number => (row === undefined ? 0 : row.inTime / row.base)
  const percent = (share: number): string => `${Math.round(share * 100)}%`
  return [
    {
      section: 'capacity',
      title: `goodput: answers within ${deadlineMs} ms, clients that ${reconnect ? 'open a connection for each request' : 'keep their connections'}`,
      table: [
        ['offered', 'guard', 'base/s', 'offered/s', 'in time/s', 'of base', 'shed/s', 'late or failed/s', 'p99 ms'],
        ...rows.map((row) => [
          ...[`${row.multiple}x`, row.shedding ? 'shedding' : 'none'],
          ...[row.base, row.offered, row.inTime].map(count),
          percent(shareOf(row)),
          ...[row.shed, row.late].map(count),
          row.p99Ms.toFixed(0),
        ]),
      ],
      figures: { rows },
      targets: [
        ...[2, 5].map((multiple) => ({
          claim: `at ${multiple}x with shedding: at least 80% of what it can do, and more than without`,
          ours: count(rowOf(multiple, true)?.inTime ?? 0),
          peer: count(rowOf(multiple, false)?.inTime ?? 0),
          figure: percent(shareOf(rowOf(multiple, true))),
          met: shareOf(rowOf(multiple, true)) >= Math.max(0.8, shareOf(rowOf(multiple, false))),
        })),
        {
          claim: 'at 0.7x nothing is shed',
          ours: count(rowOf(0.7, true)?.shed ?? 0),
          peer: '-',
          figure: count(rowOf(0.7, true)?.shed ?? 0),
          met: rowOf(0.7, true)?.shed === 0,
        },
      ],
    },
  ]
}

async function measure(multiple: number, shedding: boolean, seconds: number, reconnect: boolean): Promise<Goodput> {
  const service = await startService(shedding)
  const { url } = service
  try {
    const base = await baseRateFrom({ url, seconds: seconds / 3, reconnect })
    const order = { url, perSecond: base * multiple, deadlineMs, reconnect }
    // In the first seconds the guard finds its level; they are not counted.
    await offerFrom({ ...order, seconds: seconds / 2 })
    return { multiple, shedding, base, ...(await offerFrom({ ...order, seconds })) }
  } finally {
    service.stop()
  }
}
