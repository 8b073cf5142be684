import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { withFreePorts } from '../../packages/sluice/src/testing/servers/ports.ts'
import { waitFor } from '../../packages/sluice/src/testing/wait-for.ts'

/** Serves a worker that limits requests in workerd, and returns how it answered three requests of one client. */
export async function askWorkerd(command: readonly string[], folder: string): Promise<number[]> {
  const outfile = join(folder, 'worker.js')
  const entry = join(folder, 'worker-app.mjs')
  await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'browser', logLevel: 'silent' })
  return withFreePorts(1, async ([port]) => {
    writeFileSync(join(folder, 'worker.capnp'), config(port!))
    const child = spawn(command[0]!, ['serve', join(folder, 'worker.capnp')], { stdio: 'inherit' })
    try {
      const ask = (ip: string): Promise<number> =>
        fetch(`http://127.0.0.1:${port}/`, { headers: { 'cf-connecting-ip': ip } }).then(({ status }) => status)
      await waitFor(() => ask('192.0.2.9'), { timeoutMs: 60_000 })
      return [await ask('192.0.2.1'), await ask('192.0.2.1'), await ask('192.0.2.1')]
    } finally {
      child.kill()
    }
  })
}

const config = (port: number): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2025-01-01",
);
`
