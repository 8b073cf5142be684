import { existsSync } from 'node:fs'
import { waitFor } from '../wait-for.ts'

/** Whether a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Waits until neither the processes nor the folders exist. */
export async function gone(pids: readonly number[], folders: readonly string[] = []): Promise<void> {
  const left = (): unknown[] => [...pids.filter(isAlive), ...folders.filter((folder) => existsSync(folder))]
  await waitFor(() => left().length === 0, { timeoutMs: 60_000, describe: `${[...pids, ...folders]} to be gone` })
}
