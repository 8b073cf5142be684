import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ServerSpec } from './spec.ts'

const child = fileURLToPath(new URL('./server-child.ts', import.meta.url))

/** A server that is measured from outside. */
export class ServerProcess {
  readonly label: string
  readonly url: string
  readonly #child: ChildProcess

  private constructor(label: string, url: string, child: ChildProcess) {
    this.label = label
    this.url = url
    this.#child = child
  }

  static async open(label: string, spec: ServerSpec): Promise<ServerProcess> {
    const opened = fork(child, [JSON.stringify(spec)], {
      execArgv: process.execArgv,
      env: { ...process.env, NODE_ENV: 'production' },
    })
    const { port } = await reply<{ port: number }>(opened, label)
    return new ServerProcess(label, `http://127.0.0.1:${port}/`, opened)
  }

  /** All CPU time used so far, in microseconds. */
  async cpuUs(): Promise<number> {
    const answer = reply<{ cpuUs: number }>(this.#child, this.label)
    this.#child.send('cpu')
    return (await answer).cpuUs
  }

  async close(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.kill()
    await exited
  }
}

function reply<T>(child: ChildProcess, label: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error(`the server of ${label} ended`))
    child.once('exit', ended)
    child.once('message', (message) => {
      child.off('exit', ended)
      resolve(message as T)
    })
  })
}
