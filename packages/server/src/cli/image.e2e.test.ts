import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { reservePort, waitFor } from 'sluice/testing'
import { beforeAll, expect, test } from 'vitest'
import { buildCli, startCli } from './testing/run-cli.ts'

const healthcheck = fileURLToPath(new URL('../../../../deploy/docker/healthcheck.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'sluice-image-'))
writeFileSync(
  join(folder, 'sluice.yaml'),
  'service: s\nupstreams: [{ name: v, origin: "http://127.0.0.1:9", limits: { rps: 1 } }]',
)
writeFileSync(join(folder, 'silence.mjs'), 'export default async function* () { await new Promise(() => {}) }')
writeFileSync(
  join(folder, 'silence.json'),
  '{ "name": "s", "source": { "use": "./silence.mjs" }, "sink": { "file": "s" }, "execution": { "mode": "streaming" } }',
)
beforeAll(buildCli, 180_000)

/** With the variables of the image, and none of its ports. */
function isHealthy(pid: number, env: Record<string, string>): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(process.execPath, [healthcheck, String(pid)], { env }, (error) => resolve(error === null))
  })
}

test.each([
  ['serve', 'SLUICE_PORT', []],
  ['proxy', 'PORT', ['--policy', 'sluice.yaml']],
  ['collect', 'SLUICE_COLLECT_PORT', []],
  ['work', 'SLUICE_WORK_PORT', ['silence.json']],
])('%s in the image listens on every interface, and its health check finds it', async (command, variable, args) => {
  const { port, release } = await reservePort()
  await release()
  for (const how of ['variable', 'option']) {
    const env = { SLUICE_HOST: '0.0.0.0', ...(how === 'variable' ? { [variable]: String(port) } : {}) }
    const option = how === 'option' ? ['--port', String(port)] : []
    const child = startCli([command, ...args, ...option], { cwd: folder, env })
    try {
      await waitFor(() => isHealthy(child.pid!, env), { timeoutMs: 60_000, describe: `${command} by ${how}` })
      // Another address of this machine, which a socket on 127.0.0.1 does not answer.
      expect((await fetch(`http://127.0.0.2:${port}/health`)).status).toBe(200)
    } finally {
      child.kill('SIGKILL')
      await once(child, 'close')
    }
    // At the port that is free again: somebody else's daemon may be at the usual one.
    expect(await isHealthy(process.pid, { ...env, SLUICE_PORT: String(port) })).toBe(false)
  }
})
