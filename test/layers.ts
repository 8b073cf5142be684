import { posix } from 'node:path'
import { circlesIn } from './cycles.ts'
import { readSource, type Source } from './read-source.ts'

/** The parts from the bottom up. A part may import from its own level and from those below it. */
const levels: readonly (readonly string[])[] = [
  ['core'],
  ['runtime'],
  ['redis', 'breaker'],
  ['reports'],
  ['policy', 'stores'],
  ['admission'],
  ['limiter', 'cache', 'presence', 'freshness', 'shipper', 'capacity'],
  ['http', 'egress', 'metrics'],
  ['pipeline'],
]

/** These see every part of the library, and no other part may import them. */
const onTop: readonly string[] = ['index.ts', 'internal.ts', 'testing']

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
  pipeline: ['csv-parse', 'piscina'],
  'pipeline/testing': ['koffi'],
  'metrics/prometheus': ['prom-client'],
  'metrics/opentelemetry': ['@opentelemetry/api'],
}

/** Packages made in this repository, and those of them each may name. */
const siblings: Readonly<Record<string, readonly string[]>> = { sluice: [], server: ['sluice'], dashboard: [] }
const ownPackages: readonly string[] = ['sluice', '@sluice/server', '@sluice/dashboard']

/** The page takes the types of the answers from where the server checks them. A value would get into its bundle. */
const shapes = '/server/src/shapes/'
function takesTypesOnly(code: string, specifier: string): boolean {
  const from = code.slice(0, code.indexOf(`'${specifier}'`))
  return specifier.includes(shapes) && /(?:import|export) type \{[^}]*\} from $/.test(from)
}

/** What reads time or waits gets a `Clock`. These files of the library need the machine's own time. */
export const machineTime: Readonly<Record<string, string>> = {
  'runtime/system-clock.ts': 'is the clock',
  'policy/steps.ts': 'measures for how long it has kept the thread busy',
  'policy/sources/file/file.ts': 'compares with the times of files',
  'policy/sources/mongodb/mongodb-archive.ts': 'numbers revisions by the time of writing',
}
const timed: readonly string[] = ['Date.now', 'performance.now', 'new Date()', 'setTimeout', 'setInterval']

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
    const { imports, impurities } = readSource(source)
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
        if (inside.startsWith('..') && !(home === 'dashboard' && takesTypesOnly(source.code, specifier)))
          problem(`reaches out of its package: ${specifier}`)
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
  // Parts on one level may import each other, but not in a circle.
  const circles = circlesIn(sideways).map((parts) => `import each other in a circle: ${parts.join(', ')}`)
  return [...problems, ...circles]
}
