import type { Contender } from '../contenders/contender.ts'
import { call, contenderOf } from './call.ts'

/** The call alone. What the others take longer is what they add. */
export async function open(): Promise<Contender<boolean>> {
  return contenderOf(call)
}
