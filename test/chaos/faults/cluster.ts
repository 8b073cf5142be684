import { type ClusterServers, startCluster } from '../../../packages/sluice/src/testing/servers/cluster.ts'
import { waitFor } from '../../../packages/sluice/src/testing/wait-for.ts'
import { clusterClient, type Library, libraries } from '../clients.ts'
import { type Load, pause } from '../load.ts'
import { runTrial } from '../run.ts'
import type { Context, Row, Scenario } from '../scenario.ts'

async function failOver(cluster: ClusterServers, how: 'killed' | 'frozen'): Promise<void> {
  const former = await cluster.masterOf(100)
  await (how === 'killed' ? former.kill() : former.freeze())
  await waitFor(async () => (await cluster.masterOf(100)) !== former, { describe: 'a new master' })
  await pause(1500)
  await cluster.settled()
}

/** Moves slots to another master and back, with their keys, while they are in use. */
async function reshard(cluster: ClusterServers, context: Context): Promise<void> {
  const [one, two] = (await cluster.masters()) as [ClusterServers['nodes'][0], ClusterServers['nodes'][0]]
  const slots: number[] = []
  for (let slot = 0; slots.length < 60 * context.scale; slot += 7)
    if ((await cluster.masterOf(slot)) === one) slots.push(slot)
  for (const slot of slots) await cluster.moveSlot(slot, one, two)
  for (const slot of slots) await cluster.moveSlot(slot, two, one)
}

const faults = {
  'master killed': {
    inject: (cluster: ClusterServers) => failOver(cluster, 'killed'),
    mayLoseReplies: true,
    mayLoseWrites: true,
  },
  'master frozen': {
    inject: (cluster: ClusterServers) => failOver(cluster, 'frozen'),
    mayLoseReplies: true,
    mayLoseWrites: true,
  },
  'slots moved under load': { inject: reshard, mayLoseReplies: false, mayLoseWrites: false },
} as const

async function trials(library: Library, context: Context): Promise<Row[]> {
  context.progress('starting a cluster')
  const cluster = await startCluster()
  const client = (): ReturnType<typeof clusterClient> => clusterClient(library, cluster)
  const rows: Row[] = []
  try {
    for (const [name, { inject, ...may }] of Object.entries(faults)) {
      const fault = `${library}, cluster: ${name}`
      context.progress(fault)
      const whole = async (_: Load): Promise<undefined> => {
        await pause(300)
        await inject(cluster, context)
        await pause(500)
      }
      rows.push(await runTrial({ fault, client, auditor: client, inject: whole, ...may }, context))
    }
    return rows
  } finally {
    await cluster.stop()
  }
}

export const cluster: readonly Scenario[] = libraries.map((library) => ({
  name: `cluster-${library}`,
  run: (context: Context) => trials(library, context),
}))
