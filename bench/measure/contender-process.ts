import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Setup } from '../contenders/contender.ts'
import type { ContenderName } from '../contenders/index.ts'
import type { Reply, Request } from './messages.ts'
import type { Load, RoundResult } from './round.ts'

const worker = fileURLToPath(new URL('./worker.ts', import.meta.url))

/** A contender in a separate process, so that its effects on the compiler and the heap do not reach another. */
export class ContenderProcess {
  readonly label: string
  readonly #child: ChildProcess

  private constructor(label: string, child: ChildProcess) {
    this.label = label
    this.#child = child
  }

  static async open(
    label: string,
    contender: ContenderName,
    setup: Setup,
    subjects: number,
    passes: number,
  ): Promise<ContenderProcess> {
    // Node options of the command line, such as profilers, are passed on.
    const opened = new ContenderProcess(label, fork(worker, [], { execArgv: process.execArgv }))
    await opened.#request({ kind: 'open', contender, setup, subjects, passes })
    return opened
  }

  async round(load: Load): Promise<RoundResult> {
    return (await this.#request({ kind: 'round', load }))!
  }

  async close(): Promise<void> {
    const exited = once(this.#child, 'exit')
    await this.#request({ kind: 'close' })
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 5000)
    await exited
    clearTimeout(timer)
  }

  #request(request: Request): Promise<RoundResult | undefined> {
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error(`the process of ${this.label} ended`))
      this.#child.once('exit', ended)
      this.#child.once('message', (reply: Reply) => {
        this.#child.off('exit', ended)
        if (reply.kind === 'done') return resolve(reply.result)
        this.#child.kill('SIGKILL')
        reject(new Error(`${this.label}: ${reply.error}`))
      })
      this.#child.send(request)
    })
  }
}
