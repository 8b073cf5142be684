import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkOptionNames } from '../../core/check-options.ts'
import { waitFor } from '../wait-for.ts'
import { withFreePorts } from './ports.ts'
import { type RedisServer, type RedisServerOptions, redisServerOptionNames, startNode, startRedisOn } from './redis.ts'
import type { Reply } from './resp.ts'

export interface SentinelOptions extends RedisServerOptions {
  /**
   * How long a server may not answer before the sentinels hold it to be down; 500 ms unless said otherwise. On a busy
   * machine a master that was just promoted may not answer for longer than that, and is replaced as well. Give more
   * where just one failover is wanted.
   */
  readonly downAfterMs?: number
}

/** One master, two replicas and three sentinels. */
export interface SentinelServers {
  /** Where the sentinels are, as clients take it. */
  readonly sentinels: readonly { readonly host: string; readonly port: number }[]
  /** The name under which the sentinels know the master. */
  readonly name: string
  /** The Redis servers, without the sentinels. */
  readonly nodes: readonly RedisServer[]
  /** The server that the sentinels hold to be the master now. */
  master(): Promise<RedisServer>
  /**
   * Makes the topology whole again after a failover: starts killed nodes as replicas, thaws frozen ones, and waits
   * until every node and every sentinel agrees. Returns the master.
   */
  settled(): Promise<RedisServer>
  stop(): Promise<void>
}

const name = 'mymaster'

/** Starts 1 master, 2 replicas and 3 sentinels, each group in parallel, and waits until all of them know each other. */
export function startSentinel(given: SentinelOptions = {}): Promise<SentinelServers> {
  checkOptionNames('startSentinel', given, [...redisServerOptionNames, 'downAfterMs'])
  const { downAfterMs = 500, ...options } = given
  return withFreePorts(6, async (ports) => {
    const [masterPort] = ports
    const started: RedisServer[] = []
    const stop = async (): Promise<void> => void (await Promise.all(started.map((server) => server.stop())))
    const start = async (starting: Promise<RedisServer>[]): Promise<RedisServer[]> => {
      // Wait for all, also when one fails, so that none is left running.
      const results = await Promise.allSettled(starting)
      for (const result of results) if (result.status === 'fulfilled') started.push(result.value)
      for (const result of results) if (result.status === 'rejected') throw result.reason
      return started.slice(-starting.length)
    }
    try {
      const quick = ['--repl-diskless-sync', 'yes', '--repl-diskless-sync-delay', '0', ...(options.args ?? [])]
      const nodes = await start(
        ports.slice(0, 3).map((port) => {
          const follow = port === masterPort ? [] : replicaOf(masterPort!)
          return startRedisOn(port, { ...options, args: [...quick, ...follow] })
        }),
      )
      // The sentinels start when there is something to watch: half a second of a late master would be a failover.
      await waitFor(async () => (await nodes[0]!.info('replication')).connected_slaves === '2')
      const config = sentinelConfig(ports.slice(0, 3), ports.slice(3), downAfterMs)
      const sentinels = await start(
        ports.slice(3).map((port) => {
          const prepare = (folder: string): void => writeFileSync(join(folder, 'sentinel.conf'), config(port))
          return startNode(port, { ...options, args: ['sentinel.conf', '--sentinel'], prepare })
        }),
      )
      // Sentinels look at replicas every ten seconds, which is long for a test. Redis before 7.0 cannot be told
      // otherwise.
      const hurry = ['SENTINEL', 'DEBUG', 'info-period', '500', 'publish-period', '500']
      await Promise.allSettled(sentinels.map((sentinel) => sentinel.cli(...hurry)))
      const topology = sentinelServers(nodes, sentinels, stop)
      await topology.settled()
      return topology
    } catch (error) {
      await stop()
      throw error
    }
  })
}

function sentinelServers(
  nodes: readonly RedisServer[],
  sentinels: readonly RedisServer[],
  stop: () => Promise<void>,
): SentinelServers {
  const masterPorts = (): Promise<number[]> =>
    Promise.all(
      sentinels.map(async (sentinel) => {
        const address = await sentinel.cli<string[]>('SENTINEL', 'get-master-addr-by-name', name)
        return Number(address[1])
      }),
    )

  async function master(): Promise<RedisServer> {
    // In the middle of a failover sentinels may differ: what two of three say is so.
    const said = (await masterPorts()).sort((a, b) => a - b)
    return nodes.find((node) => node.port === said[1])!
  }

  /** What is still wrong, in words; undefined when nothing is. */
  async function trouble(leader: RedisServer): Promise<string | undefined> {
    if ((await masterPorts()).some((port) => port !== leader.port)) return 'the sentinels do not agree on a master'
    const { role } = await leader.info('replication')
    if (role !== 'master') return `the master says it is a ${role}`
    for (const node of nodes) {
      if (node === leader) continue
      const state = await node.info('replication')
      if (state.role === 'master' || state.master_port !== String(leader.port)) {
        // Sentinel corrects this by itself, but only after seconds.
        await node.cli('REPLICAOF', '127.0.0.1', leader.port)
        return `${node.port} follows another master`
      }
      if (state.master_link_status !== 'up') return `${node.port} is not linked to its master`
    }
    for (const sentinel of sentinels) {
      const [seen] = await views(sentinel, 'MASTERS')
      const replicas = await views(sentinel, 'REPLICAS', name)
      const others = await views(sentinel, 'SENTINELS', name)
      // `master_down` is a sentinel's last word on the master before; it is forgotten after five seconds, and does no
      // harm.
      const flags = [seen, ...replicas, ...others].map((view) => view?.flags?.replace(',master_down', '')).join(' ')
      if (replicas.length !== 2 || others.length !== 2) return `sentinel ${sentinel.port} does not know everyone`
      if (flags !== 'master slave slave sentinel sentinel') return `sentinel ${sentinel.port} sees ${flags}`
      const links = replicas.map((view) => `${view['master-link-status']} ${view['master-port']}`)
      if (links.some((link) => link !== `ok ${leader.port}`)) return `sentinel ${sentinel.port} sees links ${links}`
    }
    return undefined
  }

  return {
    sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
    name,
    nodes,
    master,
    async settled() {
      for (const node of nodes) if (node.frozen) node.thaw()
      const restored = await waitFor(async () => {
        const candidate = await master()
        return candidate.running && (await candidate.info('replication')).role === 'master' && candidate
      })
      for (const node of nodes) if (!node.running) await node.restart(replicaOf(restored.port))
      const agreed = async (): Promise<RedisServer> => {
        const leader = await master()
        const wrong = await trouble(leader)
        if (wrong !== undefined) throw new Error(wrong)
        return leader
      }
      return waitFor(agreed, { timeoutMs: 30_000, describe: 'Sentinel to settle' })
    },
    stop,
  }
}

function replicaOf(port: number): string[] {
  return ['--replicaof', `127.0.0.1 ${port}`]
}

/**
 * The configuration of each sentinel names all the others and the replicas: left to find each other they would take
 * seconds.
 */
function sentinelConfig(
  nodes: readonly number[],
  sentinels: readonly number[],
  downAfterMs: number,
): (port: number) => string {
  const id = (port: number): string => createHash('sha1').update(`${process.pid}:${port}`).digest('hex')
  const [master, ...replicas] = nodes
  return (port) =>
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel myid ${id(port)}`,
      `sentinel monitor ${name} 127.0.0.1 ${master} 2`,
      `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
      `sentinel failover-timeout ${name} 3000`,
      `sentinel parallel-syncs ${name} 2`,
      ...replicas.map((replica) => `sentinel known-replica ${name} 127.0.0.1 ${replica}`),
      ...sentinels
        .filter((other) => other !== port)
        .map((other) => `sentinel known-sentinel ${name} 127.0.0.1 ${other} ${id(other)}`),
    ].join('\n')
}

async function views(sentinel: RedisServer, ...question: string[]): Promise<Record<string, string>[]> {
  const rows = await sentinel.cli<Reply[][]>('SENTINEL', ...question)
  return rows.map((row) => {
    const pairs = row.flatMap((field, i) => (i % 2 === 0 ? [[String(field), String(row[i + 1])]] : []))
    return Object.fromEntries(pairs) as Record<string, string>
  })
}
