import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Setup } from '../contenders/contender.ts'
import type { ContenderName } from '../contenders/index.ts'
import { count, ratio } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'

const child = fileURLToPath(new URL('./footprint-child.ts', import.meta.url))
const run = promisify(execFile)

/** The basis of the targets: bytes per key that the peer needed at 10^6 keys, and the part of it that ours may need. */
const cases = [
  { title: '1 limit', seconds: [3600], peer: 'RateLimiterMemory', peerBytes: 406, part: 3 },
  { title: '4 limits', seconds: [3600, 7200, 43_200, 86_400], peer: 'RateLimiterUnion', peerBytes: 1621, part: 10 },
]

/** Bytes per key in this process' memory, without the key string. */
export async function memoryFootprint(keys: number): Promise<CaseResult[]> {
  const results: CaseResult[] = []
  for (const { title, seconds, peer, peerBytes, part } of cases) {
    progress(`memory: bytes per key, ${title}`)
    // Windows long enough that nothing expires while it is being counted.
    const setup = { redisUrl: '', prefix: 'bench', limits: seconds.map((one) => ({ amount: 1000, seconds: one })) }
    const ours = await bytesPerKey('sluice in memory', setup, keys)
    const theirs = await bytesPerKey('rate-limiter-flexible in memory', setup, keys)
    const most = Math.floor(peerBytes / part)
    results.push({
      section: 'memory',
      title: `bytes per key at ${count(keys)} keys, ${title}`,
      table: [
        ['contender', 'bytes', 'ours is'],
        ['sluice', count(ours), ''],
        [peer, count(theirs), `1/${(theirs / ours).toFixed(1)}`],
      ],
      figures: { ours, theirs },
      targets: [
        {
          claim: `at most ${most} bytes (1/${part} of ${count(peerBytes)})`,
          ours: count(ours),
          peer: count(theirs),
          figure: `${count(ours)} bytes, ${ratio(theirs / ours)} less`,
          met: ours <= most,
        },
      ],
    })
  }
  return results
}

async function bytesPerKey(contender: ContenderName, setup: Setup, keys: number): Promise<number> {
  const args = [
    ...process.execArgv,
    '--expose-gc',
    '--max-old-space-size=4096',
    child,
    contender,
    JSON.stringify(setup),
    String(keys),
  ]
  const { stdout } = await run(process.execPath, args)
  return (JSON.parse(stdout) as { bytesPerKey: number }).bytesPerKey
}
