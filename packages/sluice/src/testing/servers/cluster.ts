import { checkOptionNames } from '../../core/check-options.ts'
import { waitFor } from '../wait-for.ts'
import { clusterView, owns, ownView } from './cluster-view.ts'
import { withFreePorts } from './ports.ts'
import { fields, type RedisServer, type RedisServerOptions, redisServerOptionNames, startRedisOn } from './redis.ts'
import { beginSlotMove, type SlotMove } from './slot-move.ts'

export interface ClusterOptions extends RedisServerOptions {
  /** How many masters share the slots; 3 unless said otherwise. */
  readonly masters?: number
  /** How many replicas each master has; 1 unless said otherwise. */
  readonly replicas?: number
}

/** A Redis Cluster of the test's own. */
export interface ClusterServers {
  /** All nodes; at first the masters, then their replicas. */
  readonly nodes: readonly RedisServer[]
  /** The node that owns a slot now. */
  masterOf(slot: number): Promise<RedisServer>
  /** The nodes that own slots now, in no order. */
  masters(): Promise<RedisServer[]>
  /** Moves a slot with its keys. */
  moveSlot(slot: number, from: RedisServer, to: RedisServer): Promise<void>
  /** Opens a slot for moving; ASK and TRYAGAIN can be seen until the move is ended. */
  beginMove(slot: number, from: RedisServer, to: RedisServer): Promise<SlotMove>
  /** Moves the keys that are left and closes the slot. */
  endMove(move: SlotMove): Promise<void>
  /** Starts killed nodes again, thaws frozen ones, and waits until every node finds the cluster whole. */
  settled(): Promise<void>
  stop(): Promise<void>
}

const slotCount = 16_384

/**
 * Starts all nodes in parallel, joins them, and waits until every node finds the cluster whole and every replica is in
 * step.
 */
export function startCluster(options: ClusterOptions = {}): Promise<ClusterServers> {
  checkOptionNames('startCluster', options, [...redisServerOptionNames, 'masters', 'replicas'])
  const { masters = 3, replicas = 1 } = options
  const size = masters * (1 + replicas)
  return withFreePorts(size * 2, async (ports) => {
    const starting = ports.slice(0, size).map((port, i) => startRedisOn(port, nodeOptions(options, ports[size + i]!)))
    // Wait for all, also when one fails, so that none is left running.
    const results = await Promise.allSettled(starting)
    const nodes = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const stop = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.stop())))
    try {
      for (const result of results) if (result.status === 'rejected') throw result.reason
      await join(nodes, masters, ports.slice(size))
      const cluster = clusterServers(nodes, stop)
      await cluster.settled()
      return cluster
    } catch (error) {
      await stop()
      throw error
    }
  })
}

function nodeOptions(options: ClusterOptions, busPort: number): RedisServerOptions {
  const cluster = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '500', '--cluster-port', `${busPort}`]
  // A replica always takes over, however long its link was down, and never moves to another master by itself.
  const steady = ['--cluster-replica-validity-factor', '0', '--cluster-migration-barrier', '99']
  const quick = ['--repl-diskless-sync', 'yes', '--repl-diskless-sync-delay', '0']
  return { ...options, args: [...cluster, ...steady, ...quick, ...(options.args ?? [])] }
}

async function join(nodes: readonly RedisServer[], masters: number, busPorts: readonly number[]): Promise<void> {
  await Promise.all(
    nodes.map(async (node, i) => {
      // Distinct epochs from the start save the nodes from settling collisions one by one.
      await node.cli('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
      if (i >= masters) return
      const [first, end] = [i, i + 1].map((n) => Math.round((n * slotCount) / masters))
      await node.cli('CLUSTER', 'ADDSLOTSRANGE', first!, end! - 1)
    }),
  )
  const [first] = nodes
  await Promise.all(
    nodes.slice(1).map((node, i) => first!.cli('CLUSTER', 'MEET', '127.0.0.1', node.port, busPorts[i + 1]!)),
  )
  const met = async (): Promise<boolean> => {
    const views = await Promise.all(nodes.map(clusterView))
    return views.every(
      (view) => view.length === nodes.length && view.every(({ flags }) => !flags.includes('handshake')),
    )
  }
  await waitFor(met, { timeoutMs: 60_000, describe: 'the cluster nodes to meet' })
  const ids = await Promise.all(nodes.map(async (node) => (await ownView(node)).id))
  await Promise.all(nodes.slice(masters).map((node, i) => node.cli('CLUSTER', 'REPLICATE', ids[i % masters]!)))
}

function clusterServers(nodes: readonly RedisServer[], stop: () => Promise<void>): ClusterServers {
  const awake = (): RedisServer[] => nodes.filter((node) => node.running && !node.frozen)

  /** Each node's word on itself counts; of two that claim a slot, the one with the higher epoch. */
  async function masterOf(slot: number): Promise<RedisServer> {
    const own = await Promise.all(awake().map(async (node) => ({ node, view: await ownView(node) })))
    const claims = own.filter(({ view }) => view.masterId === undefined && owns(view, slot))
    const [best] = claims.sort((a, b) => b.view.epoch - a.view.epoch)
    if (best === undefined) throw new Error(`no running node owns slot ${slot}`)
    return best.node
  }

  async function masters(): Promise<RedisServer[]> {
    const own = await Promise.all(awake().map(async (node) => ({ node, view: await ownView(node) })))
    return own.filter(({ view }) => view.masterId === undefined && view.slots.length > 0).map(({ node }) => node)
  }

  /** What is still wrong, in words; undefined when nothing is. */
  async function trouble(): Promise<string | undefined> {
    const opinions = new Set<string>()
    for (const node of nodes) {
      const { cluster_state } = await stateOf(node)
      if (cluster_state !== 'ok') return `node ${node.port} finds the cluster ${cluster_state}`
      const view = await clusterView(node)
      const lost = view.filter(
        ({ flags, linked }) => !linked || flags.some((flag) => /fail|handshake|noaddr/.test(flag)),
      )
      if (view.length !== nodes.length || lost.length > 0)
        return `node ${node.port} misses ${lost.map(({ port }) => port)}`
      const { role, master_link_status } = await node.info('replication')
      if (role === 'slave' && master_link_status !== 'up') return `replica ${node.port} is not linked to its master`
      opinions.add(JSON.stringify(view.map(({ id, masterId, slots }) => `${id} ${masterId} ${slots.join(' ')}`).sort()))
    }
    if (opinions.size > 1) return 'the nodes do not agree on who owns what'
    return undefined
  }

  return {
    nodes,
    masterOf,
    masters,
    beginMove: (slot, from, to) => beginSlotMove(slot, from, to, nodes),
    endMove: (move) => move.end(),
    async moveSlot(slot, from, to) {
      const move = await beginSlotMove(slot, from, to, nodes)
      await move.end()
    },
    async settled() {
      for (const node of nodes) if (node.frozen) node.thaw()
      await Promise.all(nodes.filter((node) => !node.running).map((node) => node.restart()))
      const whole = async (): Promise<true> => {
        const wrong = await trouble()
        if (wrong !== undefined) throw new Error(wrong)
        return true
      }
      await waitFor(whole, { timeoutMs: 30_000, describe: 'the cluster to be whole' })
    },
    stop,
  }
}

async function stateOf(node: RedisServer): Promise<Record<string, string>> {
  return fields(await node.cli('CLUSTER', 'INFO'))
}
