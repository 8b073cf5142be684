import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildCli, runCli } from './testing/run-cli.ts'

const docs = readFileSync(join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'cli.md'), 'utf8')

/** The names of the fields that docs/cli.md gives for the JSON of a command; those of inner objects are left out. */
function documented(command: string): string[] {
  const rows = docs.split('\n').filter((row) => row.includes('| `{ '))
  const row = rows.find((each) => each.split(' | ')[0]!.includes(`\`${command}\``))
  let fields = /\| `\{ (.*?) \}`/.exec(row ?? '')?.[1] ?? ''
  while (/[[{][^[\]{}]*[\]}]/.test(fields)) fields = fields.replaceAll(/[[{][^[\]{}]*[\]}]/g, '')
  return fields.split(', ').map((field) => field.split(':')[0]!)
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-shapes-'))
beforeAll(() => {
  buildCli()
  writeFileSync(join(folder, 'good.yaml'), 'service: shop\nrules: [{ name: all, key: ip, limits: { rpm: 5 } }]\n')
  writeFileSync(join(folder, 'bad.yaml'), 'service: shop\nrules: 3\n')
})

describe('the JSON of a command has the fields of docs/cli.md, whatever it finds', () => {
  it.each([
    ['check', ['check', '--path', '/', '--ip', '192.0.2.7', '--policy', 'good.yaml']],
    ['explain', ['explain', '--path', '/', '--ip', '192.0.2.7', '--policy', 'good.yaml']],
    ['policy validate', ['policy', 'validate', 'good.yaml']],
    ['policy validate', ['policy', 'validate', 'bad.yaml']],
    ['init', ['init', 'new.yaml']],
    ['policy override', ['policy', 'override', '192.0.2.7', '--rpm', '9', '--for', '1h', '--policy', 'good.yaml']],
    ['policy diff', ['policy', 'diff', 'good.yaml', 'good.yaml']],
    ['policy history', ['policy', 'history', '--policy', 'good.yaml']],
    ['doctor', ['doctor', '--policy', 'good.yaml']],
    ['shipper append', ['shipper', 'append', '--dir', 'buffer']],
    ['shipper status', ['shipper', 'status', '--dir', 'buffer']],
    ['shipper rejected', ['shipper', 'rejected', '--dir', 'buffer']],
    ['shipper verify', ['shipper', 'verify', '--dir', 'buffer']],
    ['shipper verify --repair', ['shipper', 'verify', '--repair', '--dir', 'buffer']],
    ['shipper rejected --drop', ['shipper', 'rejected', '--drop', '--all', '--dir', 'buffer']],
    ['serve --validate', ['serve', '--validate', '--policy', 'good.yaml']],
    ['completion', ['completion', 'bash']],
  ])('%s: sluice %j', async (command, args) => {
    const ran = await runCli([...args, '--json'], { cwd: folder, input: '{"type":"tool-call"}\n' })
    expect(Object.keys(ran.json()).sort()).toEqual(documented(command).sort())
  })
})
