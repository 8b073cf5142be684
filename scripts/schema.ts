// Writes packages/sluice/policy.schema.json, so that editors complete and check policies; with --check, only compares.
import { readFileSync, writeFileSync } from 'node:fs'
import { policyJsonSchema } from '../packages/sluice/src/policy/document/schema/schema.ts'

const file = new URL('../packages/sluice/policy.schema.json', import.meta.url)
const wanted = `${JSON.stringify(policyJsonSchema(), null, 2)}\n`

if (process.argv.includes('--check')) {
  let found = ''
  try {
    found = readFileSync(file, 'utf8')
  } catch {}
  if (found !== wanted) {
    console.error('packages/sluice/policy.schema.json is not what the schema says; run npm run generate')
    process.exitCode = 1
  }
} else {
  writeFileSync(file, wanted)
}
