import { createShipper, type Shipper } from 'sluice/shipper'

export interface AgentOptions {
  readonly dir: string
  readonly endpoint: string
  /** What the collector limits by. */
  readonly agentId: string
  /** Level n of the backoff waits `2 ** n` times this. */
  readonly baseDelayMs?: number
}

/** The shipper of one agent. Capacity is asked for at `<endpoint>/capacity`. */
export function openAgent({ dir, endpoint, agentId, baseDelayMs = 1000 }: AgentOptions): Promise<Shipper> {
  return createShipper({ dir, endpoint, headers: { 'x-agent-id': agentId }, backoff: { base: baseDelayMs } })
}
