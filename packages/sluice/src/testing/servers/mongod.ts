import { checkOptionNames } from '../../core/check-options.ts'
import { missingPeer } from '../../core/missing-peer.ts'
import { waitFor } from '../wait-for.ts'
import { unprivileged } from './account.ts'
import { findMongod, type MongodBinary } from './mongod-binary.ts'
import { withFreePorts } from './ports.ts'
import { type ServerProcess, startProcess } from './process.ts'

export interface MongodOptions {
  /** The members of the replica set (which change streams need); none, a single server, unless said otherwise. */
  readonly replicaSet?: 1 | 3
}

/** A MongoDB of the test's own. */
export interface MongodServer {
  readonly available: true
  readonly url: string
  /** The process ids; none when the server is the one that MONGODB_URL names. */
  readonly pids: readonly number[]
  /** Has the primary give up its office, and waits until there is a new one. */
  stepDown(): Promise<void>
  /** Kills the primary, and waits until there is a new one. */
  stopPrimary(): Promise<void>
  freeze(): Promise<void>
  thaw(): void
  /** Starts killed members again, thaws frozen ones, and waits until all are in step. */
  settled(): Promise<void>
  stop(): Promise<void>
}

/** No MongoDB can be had here: tests say so, loudly, and do not run. */
export interface MongodUnavailable {
  readonly available: false
  readonly why: string
}

const set = 'sluice'

/**
 * Starts MongoDB; or uses the server at MONGODB_URL, unless three members are asked for, which tests stop and start.
 */
export async function startMongod(options: MongodOptions = {}): Promise<MongodServer | MongodUnavailable> {
  checkOptionNames('startMongod', options, ['replicaSet'])
  const external = process.env.MONGODB_URL
  if (external && options.replicaSet !== 3) return externalServer(external)
  const binary = findMongod()
  if (binary === undefined) {
    return {
      available: false,
      why: 'no MongoDB: run `npm run setup`, install mongod, or set MONGODB_URL to a test server',
    }
  }
  const size = options.replicaSet ?? 1
  return withFreePorts(size, async (ports) => {
    const starting = ports.map((port) => startMember(binary, port, options.replicaSet !== undefined))
    const results = await Promise.allSettled(starting)
    const members = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const stop = async (): Promise<void> => void (await Promise.all(members.map((member) => member.stop())))
    try {
      for (const result of results) if (result.status === 'rejected') throw result.reason
      const server = mongodServer(ports, members, options, stop)
      if (options.replicaSet !== undefined) await admin(ports[0]!, { replSetInitiate: initiation(ports) })
      await server.settled()
      return server
    } catch (error) {
      await stop()
      throw error
    }
  })
}

function startMember(binary: MongodBinary, port: number, replicated: boolean): Promise<ServerProcess> {
  return startProcess({
    name: 'mongod',
    command: binary.path,
    args: (folder) => [
      ...['--dbpath', folder, '--port', `${port}`, '--bind_ip', '127.0.0.1', '--nounixsocket'],
      ...['--wiredTigerCacheSizeGB', '0.25', ...(replicated ? ['--replSet', set] : [])],
    ],
    ...(binary.libraryPath && { env: { LD_LIBRARY_PATH: binary.libraryPath } }),
    account: unprivileged(),
    ready: async (pid) => Number((await admin(port, { serverStatus: 1, repl: 0, metrics: 0 })).pid) === pid,
    readyTimeoutMs: 30_000,
  })
}

function mongodServer(
  ports: readonly number[],
  members: readonly ServerProcess[],
  options: MongodOptions,
  stop: () => Promise<void>,
): MongodServer {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',')

  async function primary(): Promise<number> {
    const seats = ports.map(async (port, i) => {
      if (!members[i]!.running || members[i]!.frozen) throw new Error(`member ${i} does not run`)
      if ((await admin(port, { hello: 1 })).isWritablePrimary !== true)
        throw new Error(`member ${i} is not the primary`)
      return i
    })
    return Promise.any(seats)
  }

  async function succeeded(former: number): Promise<void> {
    const next = async (): Promise<boolean> => (await primary()) !== former
    await waitFor(next, { timeoutMs: 30_000, describe: 'a new primary' })
  }

  async function inStep(): Promise<boolean> {
    if (options.replicaSet === undefined) return true
    await primary()
    const states = await Promise.all(ports.map((port) => admin(port, { replSetGetStatus: 1 })))
    return states.every((state) => {
      const seen = (state.members as { stateStr: string }[]).map(({ stateStr }) => stateStr).sort()
      return seen.join() === ['PRIMARY', ...Array(ports.length - 1).fill('SECONDARY')].join()
    })
  }

  return {
    available: true,
    url: `mongodb://${hosts}/${options.replicaSet === undefined ? '?directConnection=true' : `?replicaSet=${set}`}`,
    get pids() {
      return members.map((member) => member.pid)
    },
    async stepDown() {
      const former = await primary()
      await admin(ports[former]!, { replSetStepDown: 10, secondaryCatchUpPeriodSecs: 5 })
      await succeeded(former)
    },
    async stopPrimary() {
      const former = await primary()
      await members[former]!.kill()
      await succeeded(former)
    },
    freeze: async () => void (await Promise.all(members.map((member) => member.freeze()))),
    thaw: () => members.forEach((member) => void member.thaw()),
    async settled() {
      for (const member of members) if (member.frozen) member.thaw()
      await Promise.all(members.filter((member) => !member.running).map((member) => member.start()))
      await waitFor(inStep, { timeoutMs: 60_000, describe: 'the replica set to be in step' })
    },
    stop,
  }
}

function initiation(ports: readonly number[]): object {
  return {
    _id: set,
    members: ports.map((port, _id) => ({ _id, host: `127.0.0.1:${port}` })),
    settings: { electionTimeoutMillis: 1000, heartbeatIntervalMillis: 250 },
  }
}

function externalServer(url: string): MongodServer {
  const cannot = async (): Promise<never> => {
    throw new Error('the server at MONGODB_URL is not the test’s own, and is left as it is')
  }
  const nothing = async (): Promise<void> => {}
  return {
    available: true,
    url,
    pids: [],
    stepDown: cannot,
    stopPrimary: cannot,
    freeze: cannot,
    thaw: () => {},
    settled: nothing,
    stop: nothing,
  }
}

/** Runs one command on one server. The driver is loaded here only: whoever tests without MongoDB need not have it. */
async function admin(port: number, command: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { MongoClient } = await import('mongodb').catch((cause: unknown) => {
    throw missingPeer('startMongod of sluice/testing', 'mongodb', '7', cause)
  })
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 1000,
  })
  try {
    return await client.db('admin').command(command)
  } finally {
    await client.close()
  }
}
