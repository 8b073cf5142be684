// Writes docs/reference from types, schemas and tables of the code. `--check` only compares.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiPages } from './reference/api.ts'
import { environmentPage } from './reference/environment.ts'
import { eventsPage } from './reference/events.ts'
import { policyPage } from './reference/policy.ts'

const folder = join(import.meta.dirname, '..', 'docs', 'reference')
const pages = new Map([
  ...apiPages(),
  ['policy.md', policyPage()],
  ['environment.md', environmentPage()],
  ['events.md', eventsPage()],
])

if (process.argv.includes('--check')) {
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const there = readdirSync(folder)
  const stale = [...pages].filter(([name, text]) => !there.includes(name) || read(name) !== text).map(([name]) => name)
  const left = there.filter((name) => !pages.has(name))
  if (stale.length + left.length > 0) {
    console.error(`docs/reference is not current: ${[...stale, ...left].join(', ')}; run npm run generate`)
    process.exitCode = 1
  }
} else {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of pages) writeFileSync(join(folder, name), text)
}
