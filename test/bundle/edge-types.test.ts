import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { home } from '../public-api/entry-points.ts'

/** The declarations that an entry point refers to, as far as they are ours. */
function declarations(file: string, seen = new Map<string, string>()): ReadonlyMap<string, string> {
  if (seen.has(file)) return seen
  const code = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
  seen.set(file, code)
  for (const [, path] of code.matchAll(/from ['"](\.[^'"]+)\.(?:js|ts)['"]/g))
    declarations(join(dirname(file), `${path}.d.ts`), seen)
  return seen
}

describe('the types of what runs on edge runtimes', () => {
  it.each(['index', 'http/fetch/index', 'http/index', 'http/hono/index', 'policy/index', 'breaker/index'])(
    'need none of Node: %s',
    (entry) => {
      const all = declarations(join(home, 'dist', `${entry}.d.ts`))
      expect(all.size).toBeGreaterThan(3)
      const ofNode = [...all].filter(([, code]) => /\bBuffer\b|\bNodeJS\.|['"]node:/.test(code)).map(([file]) => file)
      expect(ofNode).toEqual([])
    },
  )
})
