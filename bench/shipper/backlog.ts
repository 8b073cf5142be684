import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { count, ratio } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'
import { child } from './child.ts'

interface Filled {
  readonly bytes: number
  readonly events: number
}
interface Drained {
  readonly pending: number
  readonly sent: number
  readonly perSecond: number
  readonly openBytes: number
  readonly mostBytes: number
  readonly rss: number
}

const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** Opening a large buffer, against reading its files once. */
export async function benchStart(events: number): Promise<CaseResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  try {
    progress(`shipper: filling a buffer with ${count(events)} events`)
    const { bytes } = await child<Filled>('./fill-child.ts', [dir, events])
    const { readMs, startMs, pending } = await child<Record<'readMs' | 'startMs' | 'pending', number>>(
      './start-child.ts',
      [dir],
    )
    if (pending !== events) throw new Error(`${pending} of ${events} events were found`)
    return [
      {
        section: 'shipper',
        title: `start on a buffer of ${mib(bytes)}`,
        table: [
          ['what', 'ms'],
          ['reading the files once', readMs.toFixed(0)],
          ['createShipper', startMs.toFixed(0)],
        ],
        figures: { bytes, readMs, startMs },
        targets: [
          {
            claim: 'at most twice the time of reading it',
            ours: `${startMs.toFixed(0)} ms`,
            peer: `${readMs.toFixed(0)} ms`,
            figure: ratio(startMs / readMs),
            met: startMs <= 2 * readMs,
          },
        ],
      },
    ]
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** Draining a backlog into a receiver on this machine, and the memory that takes. */
export async function benchDrain(events: number): Promise<CaseResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const receiver = spawn(
    process.execPath,
    [...process.execArgv, fileURLToPath(new URL('./receiver-child.ts', import.meta.url))],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  try {
    const [port] = (await once(receiver.stdout, 'data')) as [Buffer]
    const url = `http://127.0.0.1:${port.toString().trim()}/v1/events`
    await child<Filled>('./fill-child.ts', [dir, events])
    progress(`shipper: draining ${count(events)} events`)
    const drained = await child<Drained>('./drain-child.ts', [dir, url], ['--expose-gc'])
    const { events: got } = (await (await fetch(url)).json()) as { events: number }
    if (got !== events || drained.sent !== events) throw new Error(`${got} of ${events} events arrived`)
    return [result(drained)]
  } finally {
    receiver.kill()
    rmSync(dir, { recursive: true })
  }
}

function result({ pending, perSecond, openBytes, mostBytes, rss }: Drained): CaseResult {
  return {
    section: 'shipper',
    title: `drain a backlog of ${count(pending)} events into a local receiver`,
    table: [
      ['figure', 'value'],
      ['events/s', count(perSecond)],
      ['heap and buffers in use, just opened', mib(openBytes)],
      ['heap and buffers in use, at most', mib(mostBytes)],
      ['resident memory of the process', mib(rss)],
    ],
    figures: { pending, perSecond, openBytes, mostBytes, rss },
    targets: [
      {
        claim: 'at least 100,000 events per second',
        ours: count(perSecond),
        peer: '',
        figure: `${count(perSecond)}/s`,
        met: perSecond >= 100_000,
      },
      {
        claim: 'under 64 MB with everything pending',
        ours: mib(openBytes),
        peer: '',
        figure: mib(openBytes),
        met: openBytes < 64e6,
      },
      {
        claim: 'under 64 MB in use at the peak of draining it',
        ours: mib(mostBytes),
        peer: '',
        figure: mib(mostBytes),
        met: mostBytes < 64e6,
      },
    ],
  }
}
