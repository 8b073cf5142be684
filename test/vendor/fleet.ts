import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startVendor, type Vendor } from '../../packages/sluice/src/egress/testing/vendor.ts'
import type { WorkerReport, WorkerSettings } from './settings.ts'

const workerFile = fileURLToPath(new URL('worker.ts', import.meta.url))

export interface FleetOptions {
  readonly processes: number
  readonly workersEach: number
  readonly redis: Pick<WorkerSettings, 'redisPort' | 'sentinels' | 'masterName'>
  readonly rps: number
  readonly bound?: 'strict' | 'estimated'
  /** How long the vendor takes to answer. */
  readonly answerMs?: number
}

/** Processes that call one vendor, which runs in this process and records every arrival. */
export class Fleet {
  readonly vendor: Vendor
  readonly #options: FleetOptions
  readonly #folder: string
  readonly processes: ChildProcess[] = []

  private constructor(options: FleetOptions, vendor: Vendor) {
    this.#options = options
    this.vendor = vendor
    this.#folder = mkdtempSync(join(tmpdir(), 'sluice-vendor-'))
    this.writePolicy(options.rps, 'first')
  }

  static async start(options: FleetOptions): Promise<Fleet> {
    const { answerMs = 5 } = options
    const vendor = await startVendor((request, response) => {
      request.resume()
      setTimeout(() => response.end('{}'), answerMs)
    })
    const fleet = new Fleet(options, vendor)
    await Promise.all(Array.from({ length: options.processes }, () => fleet.add()))
    return fleet
  }

  get #policyFile(): string {
    return join(this.#folder, 'policy.json')
  }

  writePolicy(rps: number, version: string): void {
    const upstream = { name: 'vendor', origin: this.vendor.origin, ...this.#settings(rps) }
    writeFileSync(this.#policyFile, JSON.stringify({ service: 'vendor-test', version, upstreams: [upstream] }))
  }

  #settings(rps: number): object {
    return { bound: this.#options.bound ?? 'strict', limits: { rps }, maxWait: '60s', timeout: '5s' }
  }

  /** Starts one more process; resolves when its workers have begun. */
  async add(): Promise<ChildProcess> {
    const { redis, workersEach } = this.#options
    const settings = {
      url: `${this.vendor.origin}/graphql`,
      policyFile: this.#policyFile,
      workers: workersEach,
      ...redis,
    }
    const child = fork(workerFile, [JSON.stringify(settings)], {
      execArgv: ['--import', 'tsx', '--conditions', 'sluice-source'],
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

  async stop(): Promise<void> {
    await Promise.all(
      this.processes.map(async (child) => {
        const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
        if (child.connected) child.send({ do: 'stop' })
        const killer = setTimeout(() => child.kill('SIGKILL'), 5000)
        await ended
        clearTimeout(killer)
      }),
    )
    await this.vendor.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
