import { Composer, type CST, type Document, isMap, isPair, isScalar, LineCounter, Parser, visit } from 'yaml'
import { PolicyError, type PolicyIssue } from '../policy-error.ts'

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
    const issues = [...document.errors, ...document.warnings].map(({ message, pos }) => mistake(pos[0], message))
    if (another) issues.push(mistake(another.range[0], 'a second document begins here; write one'))
    issues.push(
      ...repeatedFields(document).map((offset) => mistake(offset, 'the field is given twice; keep one of them')),
    )
    issues.push(...changedNumbers(document).map(({ offset, message }) => mistake(offset, message)))
    if (issues.length > 0) throw new PolicyError(issues)
    return document.toJS({ maxAliasCount: 10_000 })
  } catch (error) {
    if (error instanceof PolicyError) throw error
    // Thrown for aliases that multiply.
    const message = `it cannot be read: ${error instanceof Error ? error.message : String(error)}`
    throw new PolicyError([{ path: '', value: text, message }], { cause: error })
  }
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
