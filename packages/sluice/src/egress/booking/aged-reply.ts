import type { ExchangeReply } from './messages.ts'

/** What an exchange answered so long ago: what it said will last for a while has run on, also without another one. */
export function agedReply(reply: ExchangeReply, agoMs: number): ExchangeReply {
  const leftMs = (ms: number): number => Math.max(0, Math.ceil(ms - agoMs))
  const widenedForMs = leftMs(reply.widenedForMs)
  return {
    ...reply,
    recoveringMs: leftMs(reply.recoveringMs),
    pacedMs: leftMs(reply.pacedMs),
    pausedMs: leftMs(reply.pausedMs),
    widenedForMs,
    widenedMs: widenedForMs > 0 ? reply.widenedMs : 0,
  }
}
