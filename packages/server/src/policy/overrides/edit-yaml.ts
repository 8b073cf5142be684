import { isDeepStrictEqual } from 'node:util'
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  type Node,
  parse,
  parseDocument,
  stringify,
  YAMLMap,
  type YAMLSeq,
} from 'yaml'

type Rule = { readonly name: string; readonly overrides?: readonly unknown[] }
type Policy = { readonly version?: unknown; readonly rules: readonly Rule[] }

/** Replaces what stands between two places of a text. */
interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * The text of a policy with the overrides and the version of `wanted`, changed at those places only, so that comments
 * and spacing stay. Where that does not give what is wanted, the whole text is written anew. Undefined when the rule is
 * written in a way that cannot be edited, such as an alias.
 */
export function editYaml(text: string, wanted: unknown, rule: string): string | undefined {
  const { version, rules } = wanted as Policy
  const overrides = rules.find(({ name }) => name === rule)?.overrides ?? []
  const document = parseDocument(text)
  const node = ruleNode(document, rule)
  const former = node?.get('overrides', true) as Node | undefined
  if (node === undefined || (former !== undefined && !isSeq(former))) return undefined
  const edits = [
    editList(text, document, node, former, overrides),
    version === undefined ? [] : editVersion(document, version),
  ]
  const edited = apply(text, edits.flat())
  if (gives(edited, wanted)) return edited
  if (overrides.length === 0) node.delete('overrides')
  else node.set('overrides', document.createNode(overrides))
  if (version !== undefined) document.set('version', version)
  return document.toString({ lineWidth: 0 })
}

function ruleNode(document: Document, rule: string): YAMLMap | undefined {
  const rules = document.get('rules')
  const found = isSeq(rules) ? rules.items.find((each) => isMap(each) && each.get('name') === rule) : undefined
  return found instanceof YAMLMap ? found : undefined
}

function editList(
  text: string,
  document: Document,
  node: YAMLMap,
  former: YAMLSeq | undefined,
  wanted: readonly unknown[],
): Edit[] {
  if (former === undefined) {
    if (node.flow) return [insert(endOf(node) - 1, `, overrides: [${wanted.map(flow).join(', ')}] `, text)]
    const indent = ' '.repeat(columnOf(text, node.range![0]))
    const items = wanted.map((each) => `\n${indent}  - ${flow(each)}`).join('')
    return [insert(endOfLine(text, lastEnd(node)), `\n${indent}overrides:${items}`)]
  }
  const kept = former.items.map((each) => (each as Node).toJS(document) as unknown)
  const added = wanted.filter((each) => !kept.some((one) => isDeepStrictEqual(one, each)))
  const gone = [...kept.keys()].filter((i) => !wanted.some((each) => isDeepStrictEqual(each, kept[i])))
  // One that takes the place of another is written where that one stood.
  if (gone.length === 1 && added.length === 1) {
    const item = former.items[gone[0]!] as Node
    return [{ start: item.range![0], end: lastEnd(item), text: flow(added[0]) }]
  }
  if (gone.length > 0) return removed(text, node, former, gone)
  if (former.flow)
    return [insert(endOf(former) - 1, `${kept.length > 0 ? ', ' : ''}${added.map(flow).join(', ')}`, text)]
  const indent = ' '.repeat(columnOf(text, former.range![0]))
  return [insert(endOfLine(text, lastEnd(former)), added.map((each) => `\n${indent}- ${flow(each)}`).join(''))]
}

/** Whole lines of a list with one element per line; the last one takes the name of the list with it. */
function removed(text: string, node: YAMLMap, list: YAMLSeq, gone: readonly number[]): Edit[] {
  if (list.flow) return []
  const lines = (start: number, end: number): Edit => ({
    start: startOfLine(text, start),
    end: endOfLine(text, end) + 1,
    text: '',
  })
  if (gone.length < list.items.length)
    return gone.map((i) => lines((list.items[i] as Node).range![0], lastEnd(list.items[i] as Node)))
  const pair = node.items.find(({ key }) => isScalar(key) && key.value === 'overrides')
  return [lines((pair!.key as Node).range![0], lastEnd(list))]
}

function editVersion(document: Document, version: unknown): Edit[] {
  const node = document.get('version', true) as Node | undefined
  return node?.range ? [{ start: node.range[0], end: node.range[1], text: flow(version) }] : []
}

const flow = (value: unknown): string => stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim()
const endOf = (node: Node): number => node.range![1]

/** Without white space before it, when the text is given: `{ a: 1 }` becomes `{ a: 1, b: 2 }`. */
function insert(at: number, text: string, before = ''): Edit {
  const start = before.slice(0, at).trimEnd().length || at
  return { start: before === '' ? at : start, end: at, text }
}

/** Where the last thing in a node ends: blocks reach up to the next thing, over comments and empty lines. */
function lastEnd(node: unknown): number {
  if (isMap(node) && !node.flow && node.items.length > 0)
    return lastEnd(node.items.at(-1)!.value ?? node.items.at(-1)!.key)
  if (isSeq(node) && !node.flow && node.items.length > 0) return lastEnd(node.items.at(-1))
  return endOf(node as Node)
}

function startOfLine(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end
}

function columnOf(text: string, at: number): number {
  return at - startOfLine(text, at)
}

function apply(text: string, edits: readonly Edit[]): string {
  const backwards = [...edits].sort((a, b) => b.start - a.start)
  return backwards.reduce(
    (edited, { start, end, text: next }) => edited.slice(0, start) + next + edited.slice(end),
    text,
  )
}

function gives(text: string, wanted: unknown): boolean {
  try {
    return isDeepStrictEqual(parse(text), JSON.parse(JSON.stringify(wanted)))
  } catch {
    return false
  }
}
