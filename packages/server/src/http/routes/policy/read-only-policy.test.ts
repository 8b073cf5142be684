import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hold } from '../../../testing/held-to-description.ts'
import { send, startDaemon } from '../../../testing/started.ts'

const policy = 'service: shop\nrules: [{ name: per-user, limits: { rpd: 3 } }]\n'
const nobody = 65_534

/** Root may write anywhere, so the process is somebody else meanwhile. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  const own = process.geteuid!()
  if (own === 0) process.seteuid!(nobody)
  try {
    return await work()
  } finally {
    if (own === 0) process.seteuid!(own)
  }
}

test('a policy file that the daemon may not write is said to be so, and pushing to it is a conflict', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-read-only-'))
  const file = join(folder, 'sluice.yaml')
  writeFileSync(file, policy)
  const daemon = await startDaemon({ policy: file })
  const call = async (method: string, path: string, body?: unknown): ReturnType<typeof send> => {
    const answer = await send(daemon.url + path, method, body)
    hold(method, path, body, answer)
    return answer
  }
  try {
    chmodSync(folder, 0o555)
    chmodSync(file, 0o444)
    await asNobody(async () => {
      // Whether it may write is asked for the real user of the process, which stays root here.
      if (process.getuid!() !== 0) expect((await call('GET', '/v1/policy')).body).toMatchObject({ writable: false })
      const pushed = await call('PUT', '/v1/policy', policy.replace('3', '4'))
      expect(pushed.status).toBe(409)
      expect(pushed.body).toMatchObject({ detail: expect.stringMatching(/cannot be written: E|may not write/) })
      expect((await call('PUT', '/v1/policy?dryRun=true', policy.replace('3', '4'))).status).toBe(200)
    })
    expect(readFileSync(file, 'utf8')).toBe(policy)
  } finally {
    await daemon.close()
    chmodSync(folder, 0o755)
    rmSync(folder, { recursive: true })
  }
})
