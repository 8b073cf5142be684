import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A service in a separate process, with or without the guard. */
export async function startService(shedding: boolean): Promise<{ readonly url: string; stop(): void }> {
  const path = fileURLToPath(new URL('./service-child.ts', import.meta.url))
  const child = spawn(process.execPath, [...process.execArgv, path, String(shedding)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return { url: `http://127.0.0.1:${port.toString().trim()}/`, stop: () => void child.kill() }
}
