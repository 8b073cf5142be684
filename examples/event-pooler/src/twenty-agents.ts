import { join } from 'node:path'
import { openAgent } from './open-agent.ts'

export interface Agents {
  readonly acknowledged: ReadonlySet<string>
  /** Resolves when everything is sent: how many events, and how long that took from the first batch on. */
  drained(): Promise<{ readonly events: number; readonly tookMs: number }>
  close(): Promise<void>
}

/** Twenty agents in this process, each with its own buffer, that store events while the collector is away. */
export async function twentyAgents(home: string, endpoint: string, eventsEach: number): Promise<Agents> {
  const open = (_: unknown, i: number) =>
    openAgent({ dir: join(home, `agent-${i}`), endpoint, agentId: `agent-${i}`, baseDelayMs: 50 })
  const agents = await Promise.all(Array.from({ length: 20 }, open))
  let [firstMs, lastMs] = [0, 0]
  for (const agent of agents) {
    agent.on('sent', ({ sent }) => {
      if (sent === 0) return
      lastMs = performance.now()
      if (firstMs === 0) firstMs = lastMs
    })
  }
  const store = async (agent: (typeof agents)[number]): Promise<string[]> =>
    Promise.all(Array.from({ length: eventsEach }, (_, n) => agent.ship({ type: 'tool-call', n })))
  const acknowledged = new Set((await Promise.all(agents.map(store))).flat())
  return {
    acknowledged,
    async drained() {
      const left = () => agents.reduce((sum, agent) => sum + agent.stats().pending, 0)
      while (left() > 0) await new Promise((resolve) => setTimeout(resolve, 20))
      return { events: acknowledged.size, tookMs: lastMs - firstMs }
    },
    close: async () => void (await Promise.all(agents.map((agent) => agent.close()))),
  }
}
