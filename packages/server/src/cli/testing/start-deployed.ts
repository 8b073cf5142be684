import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { reservePort, waitFor } from 'sluice/testing'

/** A program as a manifest or a compose file has it. */
export interface Deployed {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** By command: the variable that says where it listens, if it is not PORT. */
const portVariables: Readonly<Record<string, string>> = {
  serve: 'SLUICE_PORT',
  collect: 'SLUICE_COLLECT_PORT',
  work: 'SLUICE_WORK_PORT',
}

/**
 * Starts a program as it is deployed, on free ports and with other words for what only exists there, such as
 * `/etc/sluice`, waits until it is ready, uses it, and ends it. Throws when it ends before, with what it said.
 */
export async function tryDeployed(
  { program, args, env }: Deployed,
  words: Readonly<Record<string, string>>,
  use: (url: string) => Promise<unknown> = async () => {},
): Promise<void> {
  const here = (text: string): string =>
    Object.entries(words).reduce((result, [there, replacement]) => result.replaceAll(there, replacement), text)
  const { port, release } = await reservePort()
  await release()
  const variables = Object.entries(env).map(([name, value]) => [name, name.endsWith('_PORT') ? '0' : here(value)])
  const child = spawn(process.execPath, [program, ...args.map(here)], {
    env: {
      PATH: process.env.PATH,
      METRICS_PORT: '0',
      ...Object.fromEntries(variables),
      [portVariables[args[0] ?? ''] ?? 'PORT']: String(port),
    },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk
    })
  let ended: number | null | undefined
  const end = once(child, 'close').then(([code]) => {
    ended = code as number | null
  })
  const url = `http://127.0.0.1:${port}`
  const isReady = async (): Promise<boolean> => (await fetch(`${url}/ready`).catch(() => undefined))?.status === 200
  try {
    await waitFor(async () => ended !== undefined || (await isReady()), { describe: 'readiness', timeoutMs: 60_000 })
    if (ended !== undefined) throw new Error(`it ended with ${ended}: ${said}`)
    await use(url)
  } finally {
    child.kill('SIGKILL')
    await end
  }
}
