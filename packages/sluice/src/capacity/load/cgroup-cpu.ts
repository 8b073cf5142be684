import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

interface Usage {
  readonly usedMs: number
  /** How many processors the group may use. */
  readonly processors: number
}

const v2 = '/sys/fs/cgroup'
const v1 = '/sys/fs/cgroup/cpuacct'

/**
 * Reads how much of its processors a container (or, where there is none, this process) uses: 0 to 1 since the last
 * call.
 */
export function cpuUtilisation(nowMs: () => number): () => number {
  const read = reader()
  let before = read()
  let beforeMs = nowMs()
  return () => {
    const usage = read()
    const now = nowMs()
    const elapsedMs = now - beforeMs
    const used = elapsedMs > 0 ? (usage.usedMs - before.usedMs) / elapsedMs / usage.processors : 0
    before = usage
    beforeMs = now
    return Math.min(1, Math.max(0, used))
  }
}

function reader(): () => Usage {
  for (const source of [readVersion2, readVersion1]) {
    // Without a quota the group is the whole machine, or a container that may use all of it: then the share of this
    // process counts.
    if (source() !== undefined) return () => source() ?? ownUsage()
  }
  return ownUsage
}

function ownUsage(): Usage {
  const { user, system } = process.cpuUsage()
  return { usedMs: (user + system) / 1000, processors: availableParallelism() }
}

function readVersion2(): Usage | undefined {
  const usedUs = Number(/^usage_usec (\d+)/m.exec(text(`${v2}/cpu.stat`))?.[1])
  const [quota, period] = text(`${v2}/cpu.max`).trim().split(' ')
  return usage(usedUs / 1000, Number(quota), Number(period))
}

function readVersion1(): Usage | undefined {
  const usedMs = Number(text(`${v1}/cpuacct.usage`) || Number.NaN) / 1e6
  return usage(usedMs, Number(text(`${v1}/cpu.cfs_quota_us`)), Number(text(`${v1}/cpu.cfs_period_us`)))
}

function usage(usedMs: number, quota: number, period: number): Usage | undefined {
  const processors = quota / period
  return Number.isFinite(usedMs) && processors > 0 && Number.isFinite(processors) ? { usedMs, processors } : undefined
}

function text(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
