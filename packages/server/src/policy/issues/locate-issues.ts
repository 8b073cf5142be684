import type { PolicyIssue } from 'sluice/policy'
import { isMap, isPair, isScalar, isSeq, LineCounter, type Pair, parseDocument, type Range, type YAMLMap } from 'yaml'
import type { TextRange } from '../../shapes/operating.ts'

/** Longer documents are not parsed a second time to find places in them. */
const maxLength = 1024 * 1024

/** Finds where in the text of a policy its mistakes stand: undefined for what is not there, or in a long text. */
export function locateIssues(text: string, issues: readonly PolicyIssue[]): readonly (TextRange | undefined)[] {
  const lines = new LineCounter()
  const said = issues.map(({ path }) => /^line (\d+), column (\d+)$/.exec(path))
  if (said.every((each) => each !== null)) {
    const linesOfText = text.split('\n')
    return said.map((each) => restOfLine(linesOfText, Number(each![1]), Number(each![2])))
  }
  if (text.length > maxLength) return issues.map(() => undefined)
  const { contents } = parseDocument(text, { lineCounter: lines, uniqueKeys: false })
  const rangeOf = ([start, end]: readonly [number, number]): TextRange => {
    const [from, to] = [lines.linePos(start), lines.linePos(Math.max(end, start + 1))]
    return { line: from.line, column: from.col, endLine: to.line, endColumn: to.col }
  }
  return issues.map(({ path, message }) => {
    const found = find(contents, path, message.startsWith('unknown here') || message.startsWith('merge keys'))
    return found && rangeOf(found)
  })
}

type Place = readonly [number, number]

/** Follows a path such as `rules[0].limits.rpm` as far as the text goes. What is missing is shown at what lacks it. */
function find(node: unknown, path: string, wantsName: boolean, name?: Place): Place | undefined {
  if (path === '') return wantsName ? name : shown(node, name)
  if (isSeq(node)) {
    const [all, index] = /^\[(\d+)\]\.?/.exec(path) ?? []
    const item = index === undefined ? undefined : node.items[Number(index)]
    // Elements have no names of their own.
    return item === undefined ? shown(node, name) : find(item, path.slice(all!.length), wantsName)
  }
  if (isMap(node)) {
    const pair = pairFor(node, path)
    if (pair === undefined) return name ?? firstName(node) ?? shown(node, name)
    const rest = path.slice(keyOf(pair).length).replace(/^\./, '')
    return find(pair.value, rest, wantsName, spanOf((pair.key as { range?: Range } | null)?.range))
  }
  return shown(node, name)
}

const keyOf = ({ key }: Pair): string => String(isScalar(key) ? key.value : key)

/** By map: its fields by their names, so that each mistake does not go through all of them. */
const fields = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>()

/** The field that a path begins with. Names may hold dots themselves, so the longest that fits is meant. */
function pairFor(node: YAMLMap, path: string): Pair | undefined {
  const byName =
    fields.get(node) ??
    new Map(
      node.items
        .toReversed()
        .filter(isPair)
        .map((pair) => [keyOf(pair), pair]),
    )
  fields.set(node, byName)
  for (let end = path.length; end >= 0; end--) {
    if (end < path.length && path[end] !== '.' && path[end] !== '[') continue
    const pair = byName.get(path.slice(0, end))
    if (pair !== undefined) return pair
  }
  return undefined
}

/** A scalar by itself; a whole list or object by its name, as pages of red text do not help. */
function shown(node: unknown, name: Place | undefined): Place | undefined {
  if (isScalar(node)) return spanOf(node.range) ?? name
  return name ?? firstName(node)
}

function firstName(node: unknown): Place | undefined {
  if (isMap(node)) return spanOf((node.items[0]?.key as { range?: Range } | undefined)?.range)
  return isSeq(node) ? spanOf(node.range?.slice(0, 1) as unknown as Range) : undefined
}

function spanOf(range: Range | null | undefined): Place | undefined {
  return range ? [range[0], range[1] ?? range[0] + 1] : undefined
}

function restOfLine(lines: readonly string[], line: number, column: number): TextRange {
  const length = lines[line - 1]?.trimEnd().length ?? 0
  return { line, column, endLine: line, endColumn: Math.max(column + 1, length + 1) }
}
