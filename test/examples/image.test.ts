import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runProgram } from 'example-service/programs'
import { startPostgres } from 'sluice/testing'
import { expect, test } from 'vitest'
import { startRegistry } from '../packages/registry.ts'

const root = join(import.meta.dirname, '..', '..')

// Installing takes long on a busy machine, so this runs with `npm run test:systems` only.
test.skipIf(!process.env.SLUICE_SYSTEMS)(
  'the recipe of the image puts an example into an empty folder, from which it starts',
  async () => {
    const registry = await startRegistry([])
    const postgres = await startPostgres()
    const folder = join(mkdtempSync(join(tmpdir(), 'sluice-image-')), 'app')
    try {
      const env = { PATH: process.env.PATH ?? '', HOME: join(folder, '..'), npm_config_registry: registry.url }
      await promisify(execFile)('sh', [join(root, 'examples/image.sh'), 'recommend-api', folder], { env })
      expect(existsSync(join(folder, 'node_modules/sluice/src'))).toBe(false)
      const given = { DATABASE_URL: postgres.url }
      const { event, child, ended } = runProgram(['node_modules/recommend-api/dist/main.js'], given, folder)
      try {
        const { url } = await event('started')
        const headers = { 'x-tenant-id': 'acme', 'content-type': 'application/json' }
        const asked = await fetch(`${url}/v1/recommend`, { method: 'POST', headers, body: '{"customer_id":"c1"}' })
        expect(await asked.json()).toEqual({ offers: [], degradedScoring: false })
      } finally {
        child.kill('SIGTERM')
      }
      expect(await ended).toBe(0)
    } finally {
      await Promise.all([registry.stop(), postgres.stop()])
    }
  },
  120_000,
)
