import { type ChildProcess, fork } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What one process has seen until it stopped, see worker.mjs. */
export interface Seen {
  readonly decisions: number
  readonly degraded: number
  readonly admitted: Readonly<Record<string, number>>
  /** Of the wide limit, as this process read it last. */
  readonly used: number
  readonly calls: number
  readonly reads: number
  readonly fromRedis: number
  readonly staleReads: number
  readonly lists: number
  readonly notListed: number
  readonly listed: readonly string[]
  /** Where something failed, and of which kind. */
  readonly failures: readonly string[]
}

/** A process of the service. */
export interface Replica {
  readonly id: string
  stop(): Promise<Seen>
}

export async function startReplica(
  worker: string,
  id: string,
  redisPort: number,
  vendor: string,
  tries: number,
  children: ChildProcess[],
): Promise<Replica> {
  const child = fork(worker, [id, String(redisPort), vendor, String(tries)], { execArgv: [] })
  children.push(child)
  const message = () =>
    new Promise<unknown>((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', (code) => reject(new Error(`the replica ${id} ended with ${code}`)))
    })
  await message()
  return {
    id,
    stop: async () => {
      const last = message()
      child.send('stop')
      return (await last) as Seen
    },
  }
}

export interface Vendor {
  readonly url: string
  readonly calls: number
  /** The most that were there at a time. */
  readonly most: number
  stop(): Promise<void>
}

/** A vendor that takes a while for each call. */
export async function startVendor(): Promise<Vendor> {
  const open = { calls: 0, now: 0, most: 0 }
  const server = createServer((_, response) => {
    open.calls += 1
    open.now += 1
    open.most = Math.max(open.most, open.now)
    setTimeout(() => {
      open.now -= 1
      response.end('ok')
    }, 10)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get calls() {
      return open.calls
    },
    get most() {
      return open.most
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
