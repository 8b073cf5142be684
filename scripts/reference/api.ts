import { entryPoints } from '../../test/public-api/entry-points.ts'
import { type Declared, find } from '../../test/public-api/modules.ts'
import { typeNamesOf } from '../../test/public-api/surface.ts'
import { annotated, commentBefore, type Loose, membersOf, sourceOf } from './declarations.ts'
import { cell, code, oneLine, page, table as tableOf } from './markdown.ts'

/** What each entry point is for. `sluice/internal` is for the daemon only and has no page. */
const purposes: Readonly<Record<string, string>> = {
  '.': 'The limiter: decisions about keys and requests.',
  './redis': 'The handle that parts share, and policies in Redis.',
  './policy': 'Reading, checking and following policies.',
  './egress': 'Calls to vendors within their limits.',
  './store': 'What a store of your own needs.',
  './mongodb': 'Policies in MongoDB.',
  './postgres': 'Counters and policies in PostgreSQL.',
  './express': 'The adapter for Express 4 and 5.',
  './http': 'What all adapters share: guards, identity, answers.',
  './fetch': 'The adapter for handlers that take a `Request`.',
  './fastify': 'The adapter for Fastify 5.',
  './hono': 'The adapter for Hono 4.',
  './koa': 'The adapter for Koa 3.',
  './nest': 'The module, guards and decorators for Nest 11 and 12.',
  './node': 'The adapter for `node:http`.',
  './breaker': 'Circuit breakers, time limits, retries and bulkheads.',
  './cache': 'A cache with two levels, and the freshness of data.',
  './capacity': 'Measuring load, shedding it, and taking events in.',
  './shipper': 'Events on disk, on their way to a server.',
  './presence': 'Who is connected, and streams of events.',
  './pipeline': 'Records from sources to sinks.',
  './prometheus': 'Metrics for prom-client.',
  './opentelemetry': 'Metrics and spans for OpenTelemetry.',
  './reports': 'The state of all parts of all processes.',
  './testing': 'Clocks, faults, servers and suites for your own tests.',
}

/** Types that are longer say more in the editor than in a table. */
const short = (text: string): string => (text.length > 160 ? `${text.slice(0, 157)}...` : text)

function members(source: string, nodes: readonly Loose[]): string[][] {
  return nodes.flatMap((node) => {
    const { key } = node
    if (key === undefined || key.type === 'PrivateIdentifier' || node.accessibility === 'private') return []
    const name = source.slice(key.start, key.end)
    if (name === 'constructor') return []
    const value = node.value ?? node
    const isMethod = node.type === 'TSMethodSignature' || node.type === 'MethodDefinition'
    const type = isMethod ? withoutBody(source, node, value) : annotated(source, node)
    const shown = isMethod ? '' : `${name}${node.optional ? '?' : ''}`
    const { text } = commentBefore(source, node.start)
    if (type === '' && text === '') return []
    return [[code(isMethod ? short(oneLine(type)) : shown), isMethod ? '' : code(short(oneLine(type))), cell(text)]]
  })
}

/** A function or method up to its body. */
function withoutBody(source: string, node: Loose, value: Loose = node): string {
  const end = value.body?.start ?? node.end
  return source.slice(node.start, end).trim()
}

const table = (rows: readonly string[][]): string[] => (rows.length === 0 ? [] : tableOf(['name', 'type', ''], rows))
const block = (text: string): string[] => ['```typescript', text, '```', '']

function bodyOf({ file, node }: Declared, name: string): string[] {
  const source = sourceOf(file)
  const loose = node as unknown as Loose
  if (loose.type === 'FunctionDeclaration' || loose.type === 'TSDeclareFunction')
    return block(withoutBody(source, loose))
  if (loose.type === 'TSInterfaceDeclaration') {
    const bases = (loose.extends ?? []).map((base) => source.slice(base.start, base.end))
    const extended = bases.length > 0 ? [`Extends ${bases.map((base) => code(base)).join(', ')}.`, ''] : []
    return [...extended, ...table(members(source, membersOf(loose)))]
  }
  if (loose.type === 'ClassDeclaration') return table(members(source, membersOf(loose)))
  if (loose.type === 'VariableDeclaration') {
    const declarator = loose.declarations?.find(({ id }) => id?.name === name)
    return block(`const ${name}: ${(declarator?.id && annotated(source, declarator.id)) || '...'}`)
  }
  return block(source.slice(loose.start, loose.end))
}

const isType = ({ node, isTypeOnly }: Declared): boolean =>
  isTypeOnly === true || node.type === 'TSInterfaceDeclaration' || node.type === 'TSTypeAliasDeclaration'

function section(name: string, declared: Declared): string[] {
  const { text, examples } = commentBefore(sourceOf(declared.file), declared.node.start)
  return [
    `### ${name}`,
    '',
    ...(text === '' ? [] : [text, '']),
    ...bodyOf(declared, declared.name.startsWith('export ') ? name : declared.name),
    ...examples.flatMap(block),
  ]
}

/** Options and bases that signatures are written with and that users need not import. */
function mentioned(names: ReadonlyMap<string, Declared>): [string, Declared][] {
  const found = new Map<string, Declared>()
  const add = (declared: Declared): void => {
    const { names: used, bases } = typeNamesOf(declared)
    for (const name of [...used, ...bases]) {
      const other = find(declared.file, name)
      if (other?.node.type !== 'TSInterfaceDeclaration' || names.has(name) || found.has(name)) continue
      if (!name.endsWith('Options') && !bases.has(name)) continue
      found.set(name, other)
      add(other)
    }
  }
  for (const declared of names.values()) add(declared)
  return [...found]
}

const order = (declared: Declared): number =>
  declared.node.type === 'FunctionDeclaration' ? 0 : declared.node.type === 'ClassDeclaration' ? 2 : 1
const byKind = ([a, one]: [string, Declared], [b, other]: [string, Declared]): number =>
  order(one) - order(other) || (a < b ? -1 : 1)

/** A page for each entry point of the library, from its types and comments. */
export function apiPages(): Map<string, string> {
  const pages = new Map<string, string>()
  for (const { subpath, names } of entryPoints) {
    if (subpath === './internal') continue
    const purpose = purposes[subpath]
    if (purpose === undefined)
      throw new Error(`scripts/reference/api.ts does not say what sluice${subpath.slice(1)} is for`)
    const sorted = [...names].sort(byKind)
    const values = sorted.filter(([, declared]) => !isType(declared))
    const types = sorted.filter(([, declared]) => isType(declared))
    const list = (title: string, some: typeof sorted): string[] =>
      some.length === 0 ? [] : [`## ${title}`, '', ...some.flatMap(([name, declared]) => section(name, declared))]
    const module = `sluice${subpath.slice(1)}`
    const imported = values.slice(0, 3).map(([name]) => name)
    const lines = [
      `# ${module}`,
      '',
      `${purpose} This page is made from the types of the library.`,
      '',
      ...(imported.length === 0 ? [] : block(`import { ${imported.join(', ')} } from '${module}'`)),
      ...list('Functions and values', values),
      ...list('Types', types),
      ...list('Types that they mention', mentioned(names).sort(byKind)),
    ]
    pages.set(`${module.replace('/', '-')}.md`, page(lines))
  }
  return pages
}
