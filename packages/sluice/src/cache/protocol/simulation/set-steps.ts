import type { SimulatedMachine } from './machine.ts'
import { type Announce, beginSet, bumpForSet, endSet, type SetStep, setAtOnce } from './redis-model.ts'
import type { World } from './world.ts'

/**
 * Sets a key: in one step where one node has all, otherwise in three, which begin again when other writers come
 * between.
 */
export function runSet(
  world: World,
  machine: SimulatedMachine,
  key: string,
  announce: Announce,
  kept: (step: SetStep) => void,
  attempts = 3,
): void {
  if (!world.isCluster) {
    machine.ask(() => setAtOnce(world, key, announce), kept)
    return
  }
  machine.ask(
    () => beginSet(world, key),
    ({ token, server }) =>
      machine.ask(
        () => (world.log.runId === server ? bumpForSet(world, key, announce) : undefined),
        (bumped) => {
          // A failover cuts the connection: the lock may be lost, so nothing is announced.
          if (bumped === undefined) return
          machine.ask(
            () => endSet(world, key, bumped, token),
            (id) => {
              if (id > 0) kept({ ...bumped, id })
              else if (attempts > 1) runSet(world, machine, key, announce, kept, attempts - 1)
            },
          )
        },
      ),
  )
}
