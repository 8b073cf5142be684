import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundled } from '../bundled.ts'
import {
  machineMs,
  type VendorReport,
  type VendorSettings,
  type WorkerReport,
  type WorkerSettings,
} from './settings.ts'

export interface FleetOptions extends Partial<VendorSettings> {
  readonly processes: number
  readonly workersEach: number
  readonly redis: Pick<WorkerSettings, 'redisPort' | 'sentinels' | 'masterName'>
  readonly limits: object
}

/** Processes that call one vendor, which is a process as well and records every arrival. */
export class Fleet {
  readonly #vendor: ChildProcess
  readonly #origin: string
  readonly #options: FleetOptions
  readonly #folder: string
  readonly #worker = bundled(join(import.meta.dirname, 'worker.ts'))
  readonly processes: ChildProcess[] = []
  /** When all processes had begun, by the clock of the machine. */
  startedMs = 0

  private constructor(options: FleetOptions, vendor: ChildProcess, origin: string) {
    this.#options = options
    this.#vendor = vendor
    this.#origin = origin
    this.#folder = mkdtempSync(join(tmpdir(), 'sluice-vendor-'))
    this.writePolicy(options.limits, 'first')
  }

  static async start(options: FleetOptions): Promise<Fleet> {
    const { answerMs = 0, reports, relayMs } = options
    const vendorFile = await bundled(join(import.meta.dirname, 'vendor-process.ts'))
    const vendor = forkFirst(vendorFile, JSON.stringify({ answerMs, reports, relayMs }))
    const [{ origin }] = (await once(vendor, 'message')) as [{ origin: string }]
    const fleet: Fleet = new Fleet(options, vendor, origin)
    await Promise.all(Array.from({ length: options.processes }, () => fleet.add()))
    fleet.startedMs = machineMs()
    return fleet
  }

  /** What the vendor saw so far. */
  async seen(): Promise<VendorReport> {
    this.#vendor.send('report')
    const [report] = (await once(this.#vendor, 'message')) as [VendorReport]
    return report
  }

  get #policyFile(): string {
    return join(this.#folder, 'policy.json')
  }

  writePolicy(limits: object, version: string): void {
    const about = { name: 'vendor', origin: this.#origin, limits, maxWait: '60s', timeout: '15s' }
    writeFileSync(this.#policyFile, JSON.stringify({ service: 'vendor-test', version, upstreams: [about] }))
  }

  /** Starts one more process; resolves when its workers have begun. */
  async add(): Promise<ChildProcess> {
    const { redis, workersEach } = this.#options
    const settings = {
      url: `${this.#origin}/graphql`,
      policyFile: this.#policyFile,
      workers: workersEach,
      ...redis,
    }
    const child = fork(await this.#worker, [JSON.stringify(settings)], {
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.processes.push(child)
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`a process ended with ${code} before it began`)
    })
    await Promise.race([once(child, 'message'), ended])
    ended.catch(() => undefined)
    return child
  }

  order(order: { readonly do: string; readonly share?: number }): void {
    for (const child of this.processes) if (child.connected) child.send(order)
  }

  async reports(): Promise<WorkerReport[]> {
    const asked = this.processes.filter((child) => child.connected && child.exitCode === null)
    return Promise.all(
      asked.map(async (child) => {
        child.send({ do: 'report' })
        const [report] = (await once(child, 'message')) as [WorkerReport]
        return report
      }),
    )
  }

  async kill(child: ChildProcess): Promise<void> {
    this.processes.splice(this.processes.indexOf(child), 1)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** Lets a process close its egress and exit. */
  async end(child: ChildProcess): Promise<void> {
    this.processes.splice(this.processes.indexOf(child), 1)
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
    if (child.connected) child.send({ do: 'stop' })
    const killer = setTimeout(() => child.kill('SIGKILL'), 5000)
    await ended
    clearTimeout(killer)
  }

  async stop(): Promise<void> {
    await Promise.all([...this.processes].map((child) => this.end(child)))
    const ended = once(this.#vendor, 'exit')
    this.#vendor.disconnect()
    await ended
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/**
 * Starts the vendor so that it runs before all other processes of the machine, where that is allowed: one that waits
 * for a processor counts calls later than they arrived at its socket, and takes two bursts for one.
 */
function forkFirst(vendorFile: string, settings: string): ChildProcess {
  const realTime = ['-f', '10']
  const isAllowed = spawnSync('chrt', [...realTime, process.execPath, '--version']).status === 0
  if (!isAllowed) process.stderr.write('the vendor has no priority, so it may see arrivals late on a busy machine\n')
  return fork(vendorFile, [settings], {
    ...(isAllowed ? { execPath: 'chrt' } : {}),
    execArgv: isAllowed ? [...realTime, process.execPath] : [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}
