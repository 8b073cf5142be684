import type { PipelineRecord } from './pipeline.ts'

export interface StepContext {
  /** Aborts when the worker must stop at once. */
  readonly signal: AbortSignal
  readonly partition: string
  /** Which try it is, from 0. */
  readonly attempt: number
}

/**
 * One record in, one out; undefined leaves it out, and `reject('why')` sends it to the dead letters. As an object, it
 * takes a whole batch and returns as many, where an element may be a `Rejected`.
 */
export type Step =
  | StepFunction
  | {
      readonly batch: (values: never, context: StepContext) => Promise<readonly unknown[]>
      /** Called when the pipeline closes. */
      close?(): Promise<unknown>
    }

type StepFunction = (value: never, context: StepContext) => unknown

/** Thrown by `reject`, and returned by a step for batches. */
export class Rejected extends Error {
  override readonly name = 'Rejected'
}

/**
 * Sends the record of a step to the dead letters.
 *
 * @example
 * const toPrice = (row: { price?: number }) => (row.price === undefined ? reject('it has no price') : row.price)
 */
export function reject(reason: string): never {
  throw new Rejected(reason)
}

/** A record on its way through the steps, with the record that it came from. */
export interface Passing {
  readonly origin: PipelineRecord
  readonly value: unknown
}

export interface Passed {
  readonly kept: readonly Passing[]
  readonly rejected: readonly { readonly origin: PipelineRecord; readonly reason: string }[]
  readonly dropped: number
}

/** Takes records through all steps. What a step throws, other than a rejection, is thrown. */
export async function applySteps(
  steps: readonly Step[],
  records: readonly PipelineRecord[],
  context: StepContext,
): Promise<Passed> {
  const rejected: { origin: PipelineRecord; reason: string }[] = []
  let dropped = 0
  let kept: Passing[] = []
  for (const origin of records) {
    if (origin.rejected === undefined) kept.push({ origin, value: origin.value })
    else rejected.push({ origin, reason: origin.rejected })
  }
  for (const step of steps) {
    const results = await resultsOf(step, kept, context)
    const passed: Passing[] = []
    kept.forEach(({ origin }, index) => {
      const value = results[index]
      if (value instanceof Rejected) rejected.push({ origin, reason: value.message })
      else if (value === undefined) dropped += 1
      else passed.push({ origin, value })
    })
    kept = passed
  }
  return { kept, rejected, dropped }
}

async function resultsOf(step: Step, passing: readonly Passing[], context: StepContext): Promise<readonly unknown[]> {
  if (typeof step !== 'function') {
    const results = await step.batch(passing.map(({ value }) => value) as never, context)
    if (results.length === passing.length) return results
    throw new Error(`a step returned ${results.length} records for ${passing.length}`)
  }
  const results: unknown[] = []
  for (const { value } of passing) results.push(await one(step, value, context))
  return results
}

async function one(step: StepFunction, value: unknown, context: StepContext): Promise<unknown> {
  try {
    return await step(value as never, context)
  } catch (error) {
    if (error instanceof Rejected) return error
    if (isMistake(error)) return new Rejected(String(error))
    throw error
  }
}

/**
 * An error of JavaScript itself is about this record, and would come again with it. `fetch` throws a TypeError with a
 * cause when a server is out of reach.
 */
function isMistake(error: unknown): boolean {
  return (
    (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError) &&
    error.cause === undefined
  )
}
