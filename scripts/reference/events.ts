import { join } from 'node:path'
import { find } from '../../test/public-api/modules.ts'
import { annotated, commentBefore, type Loose, membersOf, sourceOf } from './declarations.ts'
import { cell, code, page, table } from './markdown.ts'

const library = join(import.meta.dirname, '..', '..', 'packages', 'sluice', 'src')

/** By part: where its events are declared, and what makes it. */
const parts = [
  ['limiter', 'limiter/events.ts', 'LimiterEvents', 'createLimiter'],
  ['egress', 'egress/events.ts', 'EgressEvents', 'createEgress'],
  ['cache', 'cache/events.ts', 'CacheEvents', 'createCache'],
  ['presence', 'presence/presence.ts', 'PresenceEvents', 'createPresence'],
  ['shipper', 'shipper/flush/events.ts', 'ShipperEvents', 'createShipper'],
  ['capacity', 'capacity/events.ts', 'CapacityEvents', 'createCapacity'],
  ['breaker', 'breaker/events.ts', 'BreakerEvents', 'createBreaker'],
  ['pipeline', 'pipeline/pipeline.ts', 'PipelineEvents', 'createPipeline'],
] as const

/** The fields of what a listener gets: those of an object type, or of the interface that is named. */
function fieldsOf(source: string, file: string, type: Loose | undefined): string {
  const inner = type?.typeAnnotation ?? type
  if (inner?.type === 'TSTypeReference') {
    const name = source.slice(inner.start, inner.end)
    const declared = find(file, name)
    if (declared?.node.type === 'TSInterfaceDeclaration')
      return listed(sourceOf(declared.file), membersOf(declared.node as unknown as Loose))
    return code(name)
  }
  const members = (inner as unknown as { members?: readonly Loose[] } | undefined)?.members
  return members === undefined ? code(inner ? source.slice(inner.start, inner.end) : '') : listed(source, members)
}

const listed = (source: string, members: readonly Loose[]): string =>
  members
    .map((member) => {
      const name = source.slice(member.key!.start, member.key!.end)
      return code(`${name}${member.optional ? '?' : ''}: ${annotated(source, member)}`)
    })
    .join('<br>')

function rowsOf(file: string, name: string): string[][] {
  const declared = find(join(library, file), name)
  if (declared === undefined) throw new Error(`there is no ${name} in ${file}`)
  const source = sourceOf(declared.file)
  return membersOf(declared.node as unknown as Loose).map((member) => {
    const event = source.slice(member.key!.start, member.key!.end)
    const { text } = commentBefore(source, member.start)
    if (text === '') throw new Error(`no comment says when the event ${event} of ${name} comes`)
    return [code(event), cell(text), fieldsOf(source, declared.file, member.typeAnnotation ?? undefined)]
  })
}

/** The events of every part, from their types. */
export function eventsPage(): string {
  return page([
    '# Events',
    '',
    'What each part tells its listeners. This page is made from the types of the library.',
    '',
    '```typescript',
    "import { createLimiter } from 'sluice'",
    '',
    'const limiter = await createLimiter({ limits: { rpm: 100 } })',
    "const stop = limiter.on('decided', ({ decision }) => console.log(decision.allowed))",
    "await limiter.take('user-42')",
    'stop()',
    'await limiter.close()',
    '```',
    '',
    'All parts have `on(event, listener)`; it returns a function that ends the listening. A listener that throws does not make the call fail: its error becomes an unhandled rejection. [Metrics](../metrics.md) are counted from the same events.',
    '',
    ...parts.flatMap(([part, file, name, maker]) => [
      `## ${part[0]!.toUpperCase()}${part.slice(1)}`,
      '',
      `Of what \`${maker}\` returns.`,
      '',
      ...table(['event', 'when', 'with'], rowsOf(file, name)),
    ]),
  ])
}
