import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../packages/sluice/src/policy/compile/compile-policy.ts'
import { parseDocument } from '../packages/sluice/src/policy/document/parse-document.ts'

const root = new URL('../', import.meta.url)
const pages = [
  'README.md',
  ...readdirSync(new URL('docs/', root))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const blocks = pages.flatMap((page) => {
  const text = readFileSync(new URL(page, root), 'utf8')
  return [...text.matchAll(/```yaml\n([\s\S]*?)```/g)]
    .map(([, yaml]) => ({ page, yaml: yaml! }))
    .filter(({ yaml }) => /^service:/m.test(yaml))
})

describe('the policies in the documentation', () => {
  it('are found', () => {
    expect(blocks.length).toBeGreaterThanOrEqual(2)
  })

  it.each(blocks)('compile: $page', ({ yaml }) => {
    const { rules, upstreams } = compilePolicy(parseDocument(yaml))
    expect(rules.length + upstreams.length).toBeGreaterThan(0)
  })
})
