import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCli, type Ran, runCli, runInOne, startDaemon } from '../testing/run-cli.ts'

let folder: string
beforeAll(() => {
  buildCli()
  folder = mkdtempSync(join(tmpdir(), 'sluice-mistakes-'))
}, 180_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const bomb = Array.from({ length: 10 }, (_, i) => `a${i}: &a${i} [${i === 0 ? 'x' : Array(10).fill(`*a${i - 1}`)}]`)
const mistakes: Readonly<Record<string, readonly [text: string, place: string]>> = {
  'a syntax error': ['service: shop\nrules: [\n', 'line 3, column 1'],
  'a field given twice': ['service: shop\nservice: shop\nrules: []\n', 'line 2, column 1'],
  'a tab': ['service: shop\n\trules: []\n', 'line 2'],
  'two documents': ['service: shop\n---\nservice: b\n', 'line 2'],
  'broken JSON': ['{"service":"shop","rules":[', 'line 1'],
  'a list that contains itself': ['service: shop\nrules: &a [*a]\n', 'line 2, column 12'],
  'aliases that multiply': [`service: shop\n${bomb.join('\n')}\n`, 'line 11'],
}

const commands = (file: string): readonly (readonly string[])[] => [
  ['serve', '--port', '0', '--policy', file],
  ['serve', '--validate', '--policy', file],
  ['proxy', '--port', '0', '--policy', file],
  ['policy', 'validate', file],
]

describe('a policy with a mistake', () => {
  const written = (text: string): string => {
    const file = join(folder, 'mistake.yaml')
    writeFileSync(file, text)
    return file
  }
  const expectPlace = ({ code, out, err }: Ran, place: string): void => {
    expect([code, out + err]).toEqual([1, expect.stringContaining(place)])
    expect(err).not.toMatch(/^ +at /m)
  }

  it.each(Object.entries(mistakes))('%s ends every command with 1 and its place', async (_, [text, place]) => {
    for (const args of commands(written(text))) expectPlace(await runInOne(args), place)
  })

  it('ends the process of every command', async () => {
    const [text, place] = mistakes['a syntax error']!
    for (const ran of await Promise.all(commands(written(text)).map((args) => runCli(args)))) expectPlace(ran, place)
  })

  it('that does not fit into memory while it is parsed ends with 1 and says so', async () => {
    const file = join(folder, 'large.yaml')
    const override = (_: unknown, i: number) => `      - { key: tenant-${i}, limits: { rps: 20, rpm: 600 } }\n`
    const rule = 'service: shop\nrules:\n  - name: r\n    key: ip\n    limits: { rpm: 3 }\n    overrides:\n'
    writeFileSync(file, rule + Array.from({ length: 20_000 }, override).join(''))
    const ran = await runCli(['serve', '--validate', '--policy', file], {
      env: { NODE_OPTIONS: '--max-old-space-size=64' },
    })
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining('give the process more memory') })
  }, 120_000)

  it('is one line in the log of a daemon that runs, and a refusal over HTTP', async () => {
    const file = join(folder, 'live.yaml')
    writeFileSync(file, 'service: shop\nrules: [{ name: r, limits: { rpm: 3 } }]\n')
    const env = { SLUICE_ADMIN_TOKEN: 'token-of-the-tests' }
    const daemon = await startDaemon(['--policy', file], { env })
    for (const [text, place] of Object.values(mistakes)) {
      const headers = { authorization: `Bearer ${env.SLUICE_ADMIN_TOKEN}`, 'content-type': 'application/yaml' }
      const answer = await fetch(`${daemon.url}/v1/policy/validate`, { method: 'POST', headers, body: text })
      expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining(place)])
    }
    writeFileSync(file, mistakes['a syntax error']![0])
    await waitFor(() => daemon.out().includes('a policy was refused'), { describe: 'the refusal in the log' })
    const line = daemon
      .out()
      .split('\n')
      .find((each) => each.includes('a policy was refused'))!
    expect(JSON.parse(line).err).toEqual({
      type: 'PolicyError',
      code: 'SLUICE_INVALID_POLICY',
      message: expect.stringContaining('line 3, column 1'),
    })
    daemon.child.kill('SIGTERM')
    expect(await daemon.ended).toBe(0)
  })
})
