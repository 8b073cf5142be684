import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')
const servers = join(root, 'packages/sluice/src/testing/servers/')
const testingIndex = join(root, 'packages/sluice/src/testing/index.ts')

/** What a test names that starts processes or a browser, bundles, or looks at what was built. */
const heavy = /'(?:node:child_process|node:cluster|playwright-core|esbuild)'|['/]dist['/]/
/** What a test names that starts Nest, which ends a process that several of its applications share. */
const nest = /\bNestFactory\b/
/** What a test names that measures or changes its process: its memory, its folder. */
const ownProcess = /\bprocess\.(?:chdir|memoryUsage)\(/
/** A test that gives itself a minute or more. */
const long = /\btimeout(?::| =) (?:[6-9]\d|\d{3})_000\b/
const imports = /\b(?:import|export)\s+(type\s+)?([^'";]*?\bfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g

/** The names that `sluice/testing` exports from the modules that start servers. */
function serverNames(): ReadonlySet<string> {
  const lines = readFileSync(testingIndex, 'utf8').matchAll(/export \{([^}]*)\} from '\.\/servers\//g)
  return new Set([...lines].flatMap(([, names]) => namesIn(names!)))
}

/** Values only: a type starts nothing. */
function namesIn(clause: string): string[] {
  const names = clause.replace(/^[^{]*\{|\}.*$/gs, '').split(',')
  return names.map((name) => name.trim().split(/\s/)[0]!).filter((name) => name !== '' && name !== 'type')
}

interface Scanned {
  readonly isHeavy: boolean
  readonly isAlone: boolean
  readonly imports: readonly string[]
}

function scan(file: string, starters: ReadonlySet<string>): Scanned {
  const text = readFileSync(file, 'utf8')
  const found = [...text.matchAll(imports)].flatMap(([, type, clause = '', path, dynamic]) => {
    const target = (path ?? dynamic)!
    return type === undefined ? [{ clause, at: target.startsWith('.') ? join(dirname(file), target) : target }] : []
  })
  const isIndex = ({ at }: { readonly at: string }): boolean => at === 'sluice/testing' || at === testingIndex
  const startsServer = found.some((each) => isIndex(each) && namesIn(each.clause).some((name) => starters.has(name)))
  const isTest = file.endsWith('.test.ts')
  return {
    isHeavy: file.startsWith(servers) || heavy.test(text) || startsServer || (isTest && long.test(text)),
    isAlone: nest.test(text) || (isTest && ownProcess.test(text)),
    imports: found
      .filter((each) => !isIndex(each) && each.at.endsWith('.ts') && existsSync(each.at))
      .map(({ at }) => at),
  }
}

/** The test files, by what they need. */
export interface TestGroups {
  /** They start no other process (no server, no browser, no built command line) and do not take long. */
  readonly unit: readonly string[]
  /** All others that can share a process with other files. */
  readonly servers: readonly string[]
  /** They need a process of their own. */
  readonly alone: readonly string[]
}

/** Told by what the tests and their helpers name and import, so that a new test file needs no entry in a list. */
export function testGroups(): TestGroups {
  const starters = serverNames()
  const scanned = new Map<string, Scanned>()
  const scannedOf = (file: string): Scanned => {
    const known = scanned.get(file) ?? scan(file, starters)
    scanned.set(file, known)
    return known
  }
  const groupOf = (test: string): keyof TestGroups => {
    const reached = new Set([test])
    for (const file of reached) for (const each of scannedOf(file).imports) reached.add(each)
    const all = [...reached].map(scannedOf)
    if (all.some(({ isAlone }) => isAlone)) return 'alone'
    return test.endsWith('.e2e.test.ts') || all.some(({ isHeavy }) => isHeavy) ? 'servers' : 'unit'
  }
  const groups = { unit: [] as string[], servers: [] as string[], alone: [] as string[] }
  for (const file of testFiles().sort()) groups[groupOf(file)].push(relative(root, file))
  return groups
}

function testFiles(): string[] {
  const packages = readdirSync(join(root, 'packages')).map((name) => join('packages', name, 'src'))
  return [...packages, 'test', 'examples', 'bench'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
      .map((file) => join(root, folder, file)),
  )
}
