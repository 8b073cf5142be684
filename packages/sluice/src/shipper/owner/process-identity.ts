import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname, uptime } from 'node:os'

/** Identifies a process. A pid alone is not enough: it is reused, and in containers it is nearly always the same. */
export interface ProcessIdentity {
  /** A hash of host name, boot and pid namespace: pids of equal machines can be compared. 16 hex digits. */
  readonly machine: string
  readonly pid: number
  /** When the process started, in ticks since boot; 0 where the system does not report it. */
  readonly started: number
}

function orEmpty(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

/**
 * When a process started, in ticks since boot: undefined if there is no such process, 0 where the system does not
 * report it.
 */
export function startOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The command name comes second, in parentheses, and may hold spaces and parentheses itself.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie (Z) or dead (X) process does nothing more, although its pid is still taken.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : Number(fields[19] ?? 0)
  } catch {
    return process.platform === 'linux' || !isRunning(pid) ? undefined : 0
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

let own: ProcessIdentity | undefined

/** This process. */
export function thisProcess(): ProcessIdentity {
  if (own === undefined) {
    const boot = orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim())
    const namespace = orEmpty(() => readlinkSync('/proc/self/ns/pid'))
    const machine = createHash('sha256').update(`${hostname()}\n${boot}\n${namespace}`).digest('hex').slice(0, 16)
    own = { machine, pid: process.pid, started: startOf(process.pid) ?? 0 }
  }
  return own
}

/**
 * Milliseconds since boot: on one machine it is the same for all processes, and setting the clock does not change it.
 */
export function uptimeMs(): number {
  return Math.round(uptime() * 1000)
}

/** What is known about a process from here. */
export type Liveness = 'alive' | 'dead' | 'unknown'

/** Whether a process still runs; unknown on another machine or in another container. */
export function livenessOf(other: ProcessIdentity, self: ProcessIdentity, start: typeof startOf = startOf): Liveness {
  if (other.machine !== self.machine) return 'unknown'
  const started = start(other.pid)
  if (started === undefined) return 'dead'
  if (started === 0 || other.started === 0) return 'unknown'
  return started === other.started ? 'alive' : 'dead'
}
