import type { CompiledUpstream } from '../../policy/upstream/upstream.ts'

const most = 256

/**
 * How many connections without a request are worth having: as many as calls can be granted at a time, and while one
 * more handshake takes.
 */
export function spareConnections(limits: CompiledUpstream['limits'], handshakeMs: number): number {
  const calls = limits.filter(({ unit }) => unit === 'requests')
  const amounts = calls.map(({ amount, periodMs }) =>
    periodMs === 0 ? amount : Math.ceil(amount * (1 + handshakeMs / periodMs)),
  )
  return Math.min(most, ...amounts)
}
