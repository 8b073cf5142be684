import { ownView } from './cluster-view.ts'
import type { RedisServer } from './redis.ts'

/** A slot on its way from one master to another. Until `end`, the source answers ASK for the keys that are gone. */
export interface SlotMove {
  readonly slot: number
  /**
   * Moves up to so many keys and returns how many it moved. Between two steps a command on keys of both sides gets
   * TRYAGAIN.
   */
  step(keys?: number): Promise<number>
  /** Moves the keys that are left and gives the slot to its new master. */
  end(): Promise<void>
}

/** Opens the slot on both sides; no key has moved yet. */
export async function beginSlotMove(
  slot: number,
  from: RedisServer,
  to: RedisServer,
  nodes: readonly RedisServer[],
): Promise<SlotMove> {
  const [source, target] = [await ownView(from), await ownView(to)]
  // The order that the Redis cluster specification gives, here and in `end`: no moment without an owner.
  await to.cli('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source.id)
  await from.cli('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id)

  async function step(count = 1): Promise<number> {
    const keys = await from.cli<string[]>('CLUSTER', 'GETKEYSINSLOT', slot, count)
    if (keys.length > 0) await from.cli('MIGRATE', '127.0.0.1', to.port, '', 0, 2000, 'KEYS', ...keys)
    return keys.length
  }

  return {
    slot,
    step,
    async end() {
      while ((await step(100)) > 0);
      await to.cli('CLUSTER', 'SETSLOT', slot, 'NODE', target.id)
      await from.cli('CLUSTER', 'SETSLOT', slot, 'NODE', target.id)
      // The others hear of it by gossip too; telling the masters makes it known at once.
      for (const node of nodes) {
        if (node === to || node === from || !node.running || node.frozen) continue
        if ((await ownView(node)).masterId === undefined) await node.cli('CLUSTER', 'SETSLOT', slot, 'NODE', target.id)
      }
    },
  }
}
