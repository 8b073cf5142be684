import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'

/** `core/` gets time and randomness as arguments. */
const impure: readonly string[] = [
  ...['Date.now', 'performance.now', 'Math.random', 'crypto.randomUUID', 'crypto.getRandomValues', 'new Date()'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'process'],
]

/** One file of the repository, by its path from the root, e.g. `packages/sluice/src/core/key.ts`. */
export interface Source {
  readonly path: string
  readonly code: string
}

type Node = Readonly<Record<string, unknown>> & { readonly type: string }

function walk(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) walk(item, visit)
  else if (typeof value === 'object' && value !== null) {
    if (typeof (value as Node).type === 'string') visit(value as Node)
    for (const item of Object.values(value)) walk(item, visit)
  }
}

const named = (node: unknown): string | undefined => {
  const { type, name, object, property, computed } = (node ?? {}) as Record<string, unknown>
  if (type === 'Identifier') return String(name)
  return type === 'MemberExpression' && !computed ? `${named(object)}.${named(property)}` : undefined
}

interface Read {
  readonly imports: readonly string[]
  readonly impurities: readonly string[]
}

const known = new WeakMap<Source, Read>()

/** What a file imports, by type or by value, and the impure names it uses. */
export function readSource(source: Source): Read {
  const found = known.get(source) ?? read(source)
  known.set(source, found)
  return found
}

function read(source: Source): Read {
  const imports: string[] = []
  const impurities: string[] = []
  walk(parseSync(source.path, source.code).program, (node) => {
    const from = (node.source as { value?: unknown } | undefined)?.value
    if (typeof from === 'string') imports.push(from)
    if (node.type === 'NewExpression' && named(node.callee) === 'Date' && (node.arguments as unknown[]).length === 0) {
      impurities.push('new Date()')
    }
    if (node.type === 'CallExpression' || node.type === 'MemberExpression') {
      const name = named(node.type === 'CallExpression' ? node.callee : node)?.replace(/^globalThis\./, '')
      const found = impure.find((each) => name === each || (each === 'process' && name?.startsWith('process.')))
      if (found) impurities.push(found)
    }
  })
  return { imports: [...new Set(imports)], impurities: [...new Set(impurities)] }
}

/** The sources of the packages, without tests and declarations. */
export function sourcesIn(root: string): Source[] {
  return readdirSync(join(root, 'packages'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => filesIn(root, `packages/${name}/src`))
    .filter((path) => /(?<!\.test|\.test-d|\.d)\.tsx?$/.test(path))
    .map((path) => ({ path, code: readFileSync(join(root, path), 'utf8') }))
}

function filesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? filesIn(root, path) : [path]
  })
}
