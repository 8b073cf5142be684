import { Composer, type CST, type Document, isMap, isNode, isPair, isScalar, LineCounter, Parser, visit } from 'yaml'
import { mostIssues, PolicyError, type PolicyIssue } from '../policy-error.ts'

const deepest = 64
const mostAliases = 1000
const options = { stringKeys: true, uniqueKeys: false, prettyErrors: false } as const

/** Reads one YAML document; refuses text that is wrong, repeats a field, or is nested without sense. */
export function parseYaml(text: string): unknown {
  const lines = new LineCounter()
  const mistake = (offset: number, message: string): PolicyIssue => at(lines, offset, text, message)
  try {
    const tokens = [...new Parser(lines.addNewLine).parse(text)]
    const outOfBounds = tokens.map(beyondBounds).find((found) => found !== undefined)
    if (outOfBounds) throw new PolicyError([mistake(outOfBounds.offset, outOfBounds.message)])
    const [document, another] = [...new Composer(options).compose(tokens, true, text.length)]
    if (!document) return undefined
    const found = [
      ...[...document.errors, ...document.warnings].map(({ message, pos }) => ({ offset: pos[0], message })),
      ...(another ? [{ offset: another.range[0], message: 'a second document begins here; write one' }] : []),
      ...repeatedFields(document).map((offset) => ({ offset, message: 'the field is given twice; keep one of them' })),
      ...changedNumbers(document),
      ...aliasesOf(document)
        .filter(({ isWithin }) => isWithin)
        .map(({ offset }) => ({ offset, message: 'it contains itself' })),
    ]
    if (found.length > 0)
      throw new PolicyError(found.slice(0, mostIssues).map(({ offset, message }) => mistake(offset, message)))
    try {
      return document.toJS({ maxAliasCount: 10_000 })
    } catch (error) {
      // Thrown for aliases that multiply; the last one makes the largest value.
      const { offset } = aliasesOf(document).at(-1) ?? { offset: 0 }
      throw new PolicyError([mistake(offset, cannotBeRead(error))], { cause: error })
    }
  } catch (error) {
    if (error instanceof PolicyError) throw error
    throw new PolicyError([{ path: '', value: text, message: cannotBeRead(error) }], { cause: error })
  }
}

function cannotBeRead(error: unknown): string {
  return `it cannot be read: ${error instanceof Error ? error.message : String(error)}`
}

/** The aliases of a document, and whether each stands within what it refers to. */
function aliasesOf(document: Document.Parsed): { readonly offset: number; readonly isWithin: boolean }[] {
  const aliases: { offset: number; isWithin: boolean }[] = []
  visit(document, {
    Alias(_, node, ancestors) {
      const isNamed = ancestors.some((each) => isNode(each) && (each as { anchor?: string }).anchor === node.source)
      const isWithin = isNamed && ancestors.includes(node.resolve(document) as never)
      aliases.push({ offset: node.range?.[0] ?? 0, isWithin })
    },
  })
  return aliases
}

// The parser keeps a stack of its own, but what composes its tokens recurses: text of 10^5 dashes ends the process
// there. And it looks for the anchor of each alias through the whole document.
function beyondBounds(token: CST.Token): { offset: number; message: string } | undefined {
  let level: CST.Token[] = [token]
  let aliases = 0
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return { offset: level[0]!.offset, message: `nest at most ${deepest} levels` }
    for (const { type, offset } of level) {
      if (type === 'alias' && ++aliases > mostAliases) return { offset, message: `use at most ${mostAliases} aliases` }
    }
    level = level.flatMap(childrenOf)
  }
  return undefined
}

function childrenOf(token: CST.Token): CST.Token[] {
  const children: CST.Token[] = []
  if (token.type === 'document' && token.value) children.push(token.value)
  if ('items' in token) {
    for (const { key, value } of token.items) {
      if (key) children.push(key)
      if (value) children.push(value)
    }
  }
  return children
}

// The composer's own check compares every field with every other, which takes minutes for a large map.
function repeatedFields(document: Document.Parsed): number[] {
  const offsets: number[] = []
  visit(document, {
    Map(_, node) {
      if (!isMap(node)) return
      const seen = new Set<string>()
      for (const { key } of node.items) {
        if (!isScalar(key)) continue
        const name = String(key.value)
        if (seen.has(name)) offsets.push(key.range?.[0] ?? 0)
        seen.add(name)
      }
    },
  })
  return offsets
}

/**
 * Numbers that would be compared as another text than the one that was written: `007` would be the key 7, `1.10` the
 * value 1.1. Only where keys and values are used as texts.
 */
function changedNumbers(document: Document.Parsed): { offset: number; message: string }[] {
  const found: { offset: number; message: string }[] = []
  visit(document, {
    Scalar(_, node, ancestors) {
      if (typeof node.value !== 'number' || node.source === undefined || node.source === String(node.value)) return
      const fields = ancestors.flatMap((each) => (isPair(each) && isScalar(each.key) ? [String(each.key.value)] : []))
      const isText = (fields.includes('overrides') && fields.at(-1) === 'key') || fields.includes('match')
      if (!isText) return
      const message = `it would be read as ${node.value}; write "${node.source}" in quotes to keep it as it is`
      found.push({ offset: node.range?.[0] ?? 0, message })
    },
  })
  return found
}

/** A mistake in the text, with the line it is in. */
function at(lines: LineCounter, offset: number, text: string, message: string): PolicyIssue {
  const { line, col } = lines.linePos(offset)
  const start = lines.lineStarts[line - 1] ?? 0
  const value = text.slice(start, lines.lineStarts[line] ?? text.length).trim()
  return { path: `line ${line}, column ${col}`, value, message }
}
