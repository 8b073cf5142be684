import { posix } from 'node:path'
import { parseAst } from 'vitest/node'

/** The parts from the bottom up. A part may import from its own level and from those below it. */
const levels: readonly (readonly string[])[] = [
  ['core'],
  ['timing'],
  ['redis', 'breaker'],
  ['policy', 'stores'],
  ['admission'],
  ['limiter', 'cache', 'presence', 'freshness', 'shipper', 'capacity'],
  ['http', 'egress', 'pipeline', 'metrics', 'reports'],
]

/** These see every part of the library, and no other part may import them. */
const onTop: readonly string[] = ['index.ts', 'testing']

/** The packages each folder may import; the longest matching folder counts. What is not listed may import none. */
const vendors: Readonly<Record<string, readonly string[]>> = {
  policy: ['zod', 'yaml'],
  'policy/sources': ['zod', 'yaml', 'ioredis', 'redis', 'mongodb', 'pg'],
  redis: ['ioredis', 'redis'],
  'http/express': ['express'],
  'http/fastify': ['fastify', 'fastify-plugin'],
  'http/hono': ['hono'],
  'http/koa': ['koa'],
  'http/nest': ['@nestjs/common', '@nestjs/core', 'rxjs', 'reflect-metadata'],
  egress: ['undici'],
  'metrics/prometheus': ['prom-client'],
  'metrics/opentelemetry': ['@opentelemetry/api'],
}

/** Packages made in this repository, and those of them each may name. */
const siblings: Readonly<Record<string, readonly string[]>> = { sluice: [], server: ['sluice'], dashboard: [] }
const ownPackages: readonly string[] = ['sluice', '@sluice/server', '@sluice/dashboard']

/** `core/` gets time and randomness as arguments. */
const impure: readonly string[] = [
  ...['Date.now', 'performance.now', 'Math.random', 'crypto.randomUUID', 'crypto.getRandomValues', 'new Date()'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'process'],
]

/** What reads time or waits gets a `Clock`. These files of the library need the machine's own time. */
export const machineTime: Readonly<Record<string, string>> = {
  'timing/system-clock.ts': 'is the clock',
  'policy/compile/steps.ts': 'measures for how long it has kept the thread busy',
  'policy/sources/file/file.ts': 'compares with the times of files',
  'policy/sources/mongodb/mongodb-archive.ts': 'numbers revisions by the time of writing',
}
const timed: readonly string[] = ['Date.now', 'performance.now', 'new Date()', 'setTimeout', 'setInterval']

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

/** What a file imports, by type or by value, and the impure names it uses. */
function read(source: Source): { imports: string[]; impurities: string[] } {
  const imports: string[] = []
  const impurities: string[] = []
  walk(parseAst(source.code, { lang: source.path.endsWith('.tsx') ? 'tsx' : 'ts' }), (node) => {
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

const levelOf = (part: string): number => levels.findIndex((level) => level.includes(part))
const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
const without = (file: string): string => file.replace(/\.ts$/, '')

function vendorsOf(file: string): readonly string[] {
  const places = Object.keys(vendors).filter((place) => without(file) === place || file.startsWith(`${place}/`))
  return vendors[places.sort((a, b) => b.length - a.length)[0] ?? ''] ?? []
}

/** Lists every import that goes up, every vendor outside of its folder and every impurity in `core/`. */
export function checkLayers(sources: readonly Source[]): string[] {
  const problems: string[] = []
  const sideways = new Map<string, Set<string>>()
  for (const source of sources) {
    const [, home = '', , ...rest] = source.path.split('/')
    const file = rest.join('/')
    const part = rest[0] ?? ''
    const problem = (text: string) => problems.push(`${source.path}: ${text}`)
    const isOnTop = home !== 'sluice' || onTop.includes(part)
    if (!isOnTop && levelOf(part) < 0) problem(`"${part}" is not in the table of layers`)
    const { imports, impurities } = read(source)
    if (home === 'sluice' && part === 'core') for (const name of impurities) problem(`core uses ${name}`)
    const mayReadTime =
      isOnTop ||
      part === 'core' ||
      rest.includes('testing') ||
      rest.includes('simulation') ||
      Object.hasOwn(machineTime, file)
    if (!mayReadTime) {
      const used = [...impurities, ...imports.filter((each) => /^(node:)?timers(\/promises)?$/.test(each))]
      for (const name of used)
        if (timed.includes(name) || name.includes('timers')) problem(`uses ${name} instead of a Clock`)
    }
    for (const specifier of imports) {
      if (specifier.startsWith('.')) {
        const target = posix.join('packages', home, 'src', posix.dirname(file), specifier)
        const inside = posix.relative(posix.join('packages', home, 'src'), target)
        const other = inside.split('/')[0] ?? ''
        if (inside.startsWith('..')) problem(`reaches out of its package: ${specifier}`)
        else if (home === 'sluice' && !isOnTop && other !== part) {
          if (onTop.includes(other) || levelOf(other) > levelOf(part)) problem(`imports upward: ${specifier}`)
          else if (levelOf(other) === levelOf(part)) sideways.set(part, (sideways.get(part) ?? new Set()).add(other))
        }
      } else if (specifier.startsWith('node:')) {
        if (home === 'sluice' && part === 'core') problem(`core imports ${specifier}`)
      } else if (ownPackages.includes(packageOf(specifier))) {
        if (!siblings[home]?.includes(packageOf(specifier))) problem(`imports upward: ${specifier}`)
      } else if (home === 'sluice' && part !== 'testing' && !vendorsOf(file).includes(packageOf(specifier))) {
        problem(`names the vendor ${packageOf(specifier)} outside its folder`)
      }
    }
  }
  return [...problems, ...circles(sideways)]
}

/** Parts on one level may import each other, but not in a circle. */
function circles(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    [...(edges.get(from) ?? [])].some((next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))))
  const inCircle = [...edges.keys()].filter((part) => reaches(part, part))
  return inCircle.length === 0 ? [] : [`import each other in a circle: ${inCircle.sort().join(', ')}`]
}
