import { count } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'
import { offer } from './offer.ts'
import { startService } from './service.ts'

/** A client gives up after this. */
const deadlineMs = 500
const multiples = [1, 2, 5] as const

interface Goodput {
  readonly multiple: number
  readonly shedding: boolean
  readonly offered: number
  readonly inTime: number
  readonly shed: number
  readonly late: number
  readonly p99Ms: number
}

/** Answers within the deadline per second, at several times the rate that the service can do, with and without the guard. */
export async function benchGoodput(seconds: number): Promise<CaseResult[]> {
  progress('capacity: measuring what the service can do')
  const capacity = await measureCapacity(seconds / 3)
  const rows: Goodput[] = []
  for (const multiple of multiples) {
    for (const shedding of [false, true]) {
      progress(`capacity: ${multiple}x ${shedding ? 'with' : 'without'} shedding`)
      const service = await startService(shedding)
      const perSecond = capacity * multiple
      // The first seconds are the guard's to find its level.
      await offer(service.url, { perSecond, seconds: seconds / 2, deadlineMs })
      rows.push({ multiple, shedding, ...(await offer(service.url, { perSecond, seconds, deadlineMs })) })
      service.stop()
    }
  }
  const inTime = (multiple: number, shedding: boolean): number =>
    rows.find((row) => row.multiple === multiple && row.shedding === shedding)?.inTime ?? 0
  return [
    {
      section: 'capacity',
      title: `goodput: answers within ${deadlineMs} ms of a service that can do ${count(capacity)} per second`,
      table: [
        ['offered', 'guard', 'offered/s', 'in time/s', 'shed/s', 'late or failed/s', 'p99 ms'],
        ...rows.map((row) => [
          ...[`${row.multiple}x`, row.shedding ? 'shedding' : 'none'],
          ...[row.offered, row.inTime, row.shed, row.late].map(count),
          row.p99Ms.toFixed(0),
        ]),
      ],
      figures: { capacity, rows },
      targets: [2, 5].map((multiple) => ({
        claim: `at ${multiple}x with shedding: at least half of what it can do, and more than without`,
        ours: count(inTime(multiple, true)),
        peer: count(inTime(multiple, false)),
        figure: `${Math.round((inTime(multiple, true) / capacity) * 100)}%`,
        met: inTime(multiple, true) >= capacity / 2 && inTime(multiple, true) > inTime(multiple, false),
      })),
    },
  ]
}

/** A few callers one after the other, so that nothing queues for long. */
async function measureCapacity(seconds: number): Promise<number> {
  const service = await startService(false)
  const end = performance.now() + seconds * 1000
  let answers = 0
  const caller = async (): Promise<void> => {
    while (performance.now() < end) {
      await (await fetch(service.url)).arrayBuffer()
      answers++
    }
  }
  await Promise.all([caller(), caller(), caller(), caller()])
  service.stop()
  return Math.round(answers / seconds)
}
