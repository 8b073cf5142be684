import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PostgresServer, type RedisServer, startPostgres, startRedis } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, pagesIn } from './page.ts'
import { missing, runPage } from './run-page.ts'

const pages = pagesIn('start', 'how-to', 'coming-from')
const isProgram = (page: string): boolean =>
  blocksOf(page).some(({ language, word }) => language === 'ts' && word === undefined)
let redis: RedisServer
let postgres: PostgresServer
let folder: string

beforeAll(async () => {
  ;[redis, postgres] = await Promise.all([startRedis({ args: ['--databases', String(pages.length)] }), startPostgres()])
  folder = mkdtempSync(join(tmpdir(), 'docs-'))
})

afterAll(async () => {
  await Promise.all([redis?.stop(), postgres?.stop()])
  rmSync(folder, { recursive: true, force: true })
})

describe('what the pages show', () => {
  it.concurrent.each(
    pages.filter((page) => isProgram(page) || blocksOf(page).some(({ code }) => code.startsWith('npx '))),
  )('runs and prints what %s says', { timeout: 180_000 }, async (page) => {
    const { NODE_OPTIONS: _, VITEST: __, ...env } = process.env
    const at = join(folder, page.replaceAll('/', '-'))
    // A database of its own, so that no page meets the counters of another.
    const database = `${redis.url}/${pages.indexOf(page)}`
    const steps = await runPage(page, at, database, { ...env, DATABASE_URL: postgres.url })
    for (const { title, printed, expected } of steps)
      expect(missing(printed, expected), `${title} printed:\n${printed}`).toEqual([])
  })

  it('is valid in a shell', () => {
    const shown = pagesIn('start', 'how-to', 'coming-from', 'operate', 'why', 'systems')
      .flatMap(blocksOf)
      .filter(({ language }) => language === 'sh')
    const { status, stderr } = spawnSync('bash', ['-n'], { input: shown.map(({ code }) => code).join('\n') })
    expect(status, String(stderr)).toBe(0)
  })
})

describe('the comparison of what is printed', () => {
  it('misses a line that is not there, and takes ... for anything', () => {
    expect(missing('a 1 b\nc\n', ['a ... b', 'c', 'd'])).toEqual(['d'])
  })
})
