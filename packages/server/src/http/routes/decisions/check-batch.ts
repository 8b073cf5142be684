import { setImmediate } from 'node:timers/promises'
import type { Decision } from 'sluice'
import type { LivePolicy } from 'sluice/policy'
import { BatchCheck } from '../../../shapes/decisions.ts'
import type { BatchWork } from '../../batch-work.ts'
import { decisionJson } from '../../decision-json.ts'
import { type CheckInput, checkInput, readInput } from '../../input/inputs.ts'
import { HttpProblem, overloaded, toProblem } from '../../problem.ts'

/** Most work of a portion, in charges: about a millisecond for this process, and for the store. */
const portionWork = 128
/** To read and answer a check costs as much as so many charges. */
const checkWork = 2

/** Checks that are decided together. */
interface Portion {
  readonly inputs: CheckInput[]
  charges: number
}

const workOf = ({ inputs, charges }: Portion): number => charges + inputs.length * checkWork

/**
 * Decides each check of a batch for itself: one that cannot be decided does not keep the others from it. The result is
 * JSON in pieces, as what was decided would need more memory as objects, and more time as one text.
 */
export async function checkBatch(
  checks: readonly unknown[],
  policy: LivePolicy,
  work: BatchWork,
  decide: (input: CheckInput) => Promise<Decision>,
): Promise<Buffer[]> {
  const portions = await portionsOf(checks, policy, work.maxCharges)
  const charges = portions.reduce((sum, portion) => sum + portion.charges, 0)
  if (!work.enter(charges)) throw overloaded()
  try {
    const pieces: Buffer[] = []
    for (const portion of portions) {
      const piece = await work.inTurn(() =>
        Promise.all(portion.inputs.map((input) => decide(input).then(text, failure))),
      )
      pieces.push(Buffer.from(`${pieces.length === 0 ? '{"decisions":[' : ','}${piece.join()}`))
    }
    pieces.push(Buffer.from(']}'))
    return pieces
  } finally {
    work.leave(charges)
  }
}

/** Reads a batch and finds the rules of its requests, which takes time as well: others come in between. */
async function portionsOf(checks: readonly unknown[], policy: LivePolicy, maxCharges: number): Promise<Portion[]> {
  const portions: Portion[] = []
  let portion: Portion = { inputs: [], charges: 0 }
  let before = 0
  for (const [index, check] of checks.entries()) {
    const input = checkInput(readInput(BatchCheck, check, `checks[${index}]`))
    // A check that no rule applies to costs something too. The time matters only to the limits of a rule.
    const charges = 'request' in input ? Math.max(1, policy.current.match(input.request, 0).rules.length) : 1
    if (before + portion.charges + charges > maxCharges) throw tooMany(maxCharges)
    if (portion.inputs.length > 0 && workOf(portion) + charges + checkWork > portionWork) {
      portions.push(portion)
      before += portion.charges
      portion = { inputs: [], charges: 0 }
      await setImmediate()
    }
    portion.inputs.push(input)
    portion.charges += charges
  }
  return [...portions, portion]
}

function tooMany(maxCharges: number): HttpProblem {
  const detail = `The rules that match these checks, taken together, are more than ${maxCharges}; send fewer checks at once.`
  return new HttpProblem(413, detail)
}

function text(decision: Decision): string {
  return JSON.stringify(decisionJson(decision))
}

function failure(error: unknown): string {
  const { status, message, extra } = toProblem(error)
  const { retryAfterMs: _, ...rest } = extra
  return JSON.stringify({ error: { status, detail: message, ...rest } })
}
