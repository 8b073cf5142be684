import { readFileSync } from 'node:fs'

/** As much of a node of the parser as is read here, whatever its kind. */
export interface Loose {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly name?: string
  readonly optional?: boolean
  readonly accessibility?: string
  readonly key?: Loose
  readonly id?: Loose
  readonly value?: Loose | null
  readonly typeAnnotation?: Loose | null
  readonly body?: Loose | null
  readonly extends?: readonly Loose[]
  readonly declarations?: readonly Loose[]
}

/** The members of an interface or a class. */
export const membersOf = ({ body }: Loose): readonly Loose[] => (body?.body ?? []) as unknown as readonly Loose[]

const sources = new Map<string, string>()
export function sourceOf(file: string): string {
  const known = sources.get(file) ?? readFileSync(file, 'utf8')
  sources.set(file, known)
  return known
}

export interface Comment {
  readonly text: string
  readonly examples: readonly string[]
}

/** The comment that stands directly before a position. */
export function commentBefore(source: string, start: number): Comment {
  const before = source
    .slice(0, start)
    .replace(/(?:export |declare |async |abstract )*$/, '')
    .trimEnd()
  if (!before.endsWith('*/')) return { text: '', examples: [] }
  const raw = before.slice(before.lastIndexOf('/**') + 3, -2)
  const lines = raw.split('\n').map((line) => line.replace(/^\s*\* ?/, ''))
  const [text = '', ...tags] = lines.join('\n').split(/^ ?@(?=[a-z])/m)
  const examples = tags
    .filter((tag) => tag.startsWith('example'))
    .map((tag) => tag.slice(7).trim().replaceAll('\\@', '@'))
  // An indented paragraph is a drawing.
  const shown = (paragraph: string): string =>
    paragraph.startsWith('    ') ? `\`\`\`text\n${paragraph}\n\`\`\`` : paragraph.replace(/\s*\n\s*/g, ' ').trim()
  const paragraphs = text
    .replace(/^\s*\n/, '')
    .trimEnd()
    .split(/\n\s*\n/)
  return { text: paragraphs.map(shown).join('\n\n'), examples }
}

/** What stands behind the colon. */
export function annotated(source: string, node: Loose): string {
  const type = node.typeAnnotation
  return type ? source.slice(type.start, type.end).replace(/^:\s*/, '') : ''
}
