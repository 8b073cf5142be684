import type { RedisServer } from './redis.ts'

/** What one line of CLUSTER NODES says. */
export interface ClusterMember {
  readonly id: string
  readonly port: number
  readonly flags: readonly string[]
  /** The id of its master, for a replica. */
  readonly masterId: string | undefined
  readonly epoch: number
  readonly linked: boolean
  /** Its slots as inclusive ranges. */
  readonly slots: readonly (readonly [first: number, last: number])[]
}

/** The cluster as one of its nodes sees it. */
export async function clusterView(node: RedisServer): Promise<ClusterMember[]> {
  const text = await node.cli<string>('CLUSTER', 'NODES')
  return text.trim().split('\n').map(member)
}

/** How a node sees itself. */
export async function ownView(node: RedisServer): Promise<ClusterMember> {
  const view = await clusterView(node)
  return view.find(({ flags }) => flags.includes('myself'))!
}

export function owns(member: ClusterMember, slot: number): boolean {
  return member.slots.some(([first, last]) => first <= slot && slot <= last)
}

function member(line: string): ClusterMember {
  const [id, address, flags, master, , , epoch, link, ...slots] = line.split(' ')
  return {
    id: id!,
    port: Number(/:(\d+)@/.exec(address!)?.[1]),
    flags: flags!.split(','),
    masterId: master === '-' ? undefined : master,
    epoch: Number(epoch),
    linked: link === 'connected',
    // `[93-<-id]` and `[93->-id]` tell of slots on the move, not of slots owned.
    slots: slots.filter((slot) => !slot.startsWith('[')).map(range),
  }
}

function range(text: string): [number, number] {
  const [first, last = first] = text.split('-').map(Number)
  return [first!, last!]
}
