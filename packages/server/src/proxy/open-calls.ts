import type { ServerResponse } from 'node:http'
import { answerProblem, problems } from './proxy-problem.ts'

/** The calls that a proxy is answering, so that it can end when they are over. */
export class OpenCalls {
  readonly #calls = new Set<ServerResponse>()
  #isEnding = false
  #onEmpty: () => void = () => {}

  get size(): number {
    return this.#calls.size
  }

  /** Whether new calls are refused. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  add(response: ServerResponse): void {
    this.#calls.add(response)
    response.once('close', () => {
      this.#calls.delete(response)
      if (this.#calls.size === 0) this.#onEmpty()
    })
  }

  /** Resolves when all calls are over. After `withinMs`, those that have no answer yet get 503. */
  async end(withinMs: number): Promise<void> {
    this.#isEnding = true
    if (this.#calls.size === 0) return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs)
    })
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve
    })
    await Promise.race([empty, late])
    clearTimeout(timer)
    for (const response of this.#calls) if (!response.headersSent) answerProblem(response, problems.ending)
  }
}
