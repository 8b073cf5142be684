import { inspect } from 'node:util'
import { checkOptionNames } from '../core/check-options.ts'

export interface WaitForOptions {
  /** How long to wait before giving up; 30 seconds unless said otherwise. */
  readonly timeoutMs?: number
  /** What is awaited, in words, for the error. */
  readonly describe?: string
}

/** What is left of a type when it is known to be truthy. */
export type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>

/**
 * Polls until the condition answers something truthy, and returns that. A condition that throws is "not yet".
 *
 * @example
 * await waitFor(() => events.length === 3, { describe: 'three events' })
 */
export async function waitFor<T>(condition: () => T | Promise<T>, options: WaitForOptions = {}): Promise<Truthy<T>> {
  checkOptionNames('waitFor', options, ['timeoutMs', 'describe'])
  const { timeoutMs = 30_000, describe = condition.toString() } = options
  const endMs = performance.now() + timeoutMs
  let seen = 'nothing: the condition did not settle'
  let cause: unknown
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 25)) {
    const left = endMs - performance.now()
    if (left > 0) {
      try {
        const answer = await orTimeout(condition(), left)
        if (answer !== unsettled) {
          if (answer) return answer as Truthy<T>
          seen = inspect(answer, { depth: 4, breakLength: 120 })
          cause = undefined
        }
      } catch (error) {
        seen = `an error: ${error instanceof Error ? error.message : inspect(error)}`
        cause = error
      }
    }
    if (performance.now() + pauseMs >= endMs) {
      throw new Error(`waited ${timeoutMs} ms for ${describe}; last seen was ${seen}`, { cause })
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

const unsettled = Symbol('unsettled')

/** A condition that hangs (a frozen server) must not outlive the time limit. */
async function orTimeout<T>(answer: T | Promise<T>, ms: number): Promise<T | typeof unsettled> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<typeof unsettled>((resolve) => {
    timer = setTimeout(resolve, ms, unsettled)
  })
  try {
    return await Promise.race([answer, timeout])
  } finally {
    clearTimeout(timer)
  }
}
