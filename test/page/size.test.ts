import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const folder = fileURLToPath(new URL('../../packages/server/dist/page/', import.meta.url))
const read = (name: string): string => readFileSync(folder + name, 'utf8')

/** A script and every script it imports at once; what `import()` loads later does not count. */
function withImports(name: string, seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen
  seen.add(name)
  for (const [, other] of read(name).matchAll(/(?:from|import)"\.\/([\w.-]+\.js)"/g))
    withImports(`assets/${other}`, seen)
  return seen
}

test('the overview needs less than 120 kB of compressed script, and nothing from elsewhere', () => {
  const html = read('index.html')
  const scripts = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(([, name]) => name!)
  const all = new Set(scripts.flatMap((name) => [...withImports(name)]))
  const bytes = [...all].reduce((sum, name) => sum + readFileSync(`${folder}${name}.gz`).length, 0)
  expect(bytes).toBeGreaterThan(10_000)
  expect(bytes).toBeLessThan(120_000)
  expect(html).not.toMatch(/https?:\/\//)
  expect(html).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=/)
})
