import type { Ask, Charge, TakeAsk } from '../../core/engine/ask.ts'
import { changeCharge } from '../../core/engine/charge.ts'

/**
 * What takes a granted ask back: what is held is cancelled, what is only spent is refunded. Units that a counter no
 * longer has on top (`isGone`) stay, and only their hold ends.
 */
export function giveBackAsks(
  { charges, hold }: TakeAsk,
  takenUs: number,
  isGone: (charge: Charge) => boolean = () => false,
): Ask[] {
  const isHeld = ({ limits }: Charge): boolean => hold !== undefined && (!hold.permitsOnly || limits.needsHold)
  const held = charges.filter(isHeld).map((charge) => (isGone(charge) ? charge : changeCharge(charge, { cost: 0 })))
  const spent = charges.filter((charge) => !isHeld(charge) && !isGone(charge))
  const asks: Ask[] = []
  if (held.length > 0) asks.push({ kind: 'settle', charges: held, id: hold!.id })
  if (spent.length > 0) asks.push({ kind: 'refund', charges: spent, takenUs })
  return asks
}
