import { hasMethod, type Matcher } from '../condition/matcher.ts'
import { captureNames, type PathPattern } from '../condition/path-pattern.ts'
import type { RequestView } from '../request-view.ts'
import { comparedSegment, couldBeAny, decodeSegment, isStrange, pathSpellings } from '../selector/path-spellings.ts'
import type { Captured, Selector } from '../selector/selector.ts'

/** A rule whose `match` holds, by its index in the policy. */
export interface Candidate {
  readonly index: number
  /** Which of the rule's patterns it was: the first one that fits counts. */
  readonly order: number
  readonly captured: Captured | undefined
}

/**
 * Finds the rules that apply to a request without asking each of them: a tree of path segments leads to the few that
 * share the path, and there a value that one of their conditions asks for leads to the few that want it.
 *
 *     /v1 ── users ── :id      each node: rules that end here, rules that take all below (`*`)
 *        └── analyze
 */
export class RuleIndex {
  readonly #root = new TreeNode()
  readonly #all = new EntryList()

  constructor(matchers: readonly (Matcher | undefined)[]) {
    for (const [index, matcher] of matchers.entries()) {
      if (!matcher) continue
      if (!matcher.patterns) this.#add({ index, order: 0, matcher, names: none }, this.#root, true)
      for (const [order, pattern] of (matcher.patterns ?? []).entries()) this.#insert(pattern, index, order, matcher)
    }
  }

  /** The rules whose `match` holds, in the order of the policy. */
  find(request: RequestView, nowMs: number): readonly Candidate[] {
    const path = typeof request.path === 'string' ? request.path : ''
    const found: Candidate[] = []
    if (!this.#root.hasChildren || !isStrange(path)) walk(this.#root, path, 0, [], request, nowMs, found)
    else if (couldBeAny(path)) collect(this.#all, noCaptures, request, nowMs, found)
    else for (const spelling of pathSpellings(path)) walk(this.#root, spelling, 0, [], request, nowMs, found)
    if (found.length < 2) return found
    // The sort is stable: of several spellings of the path that fit one pattern, the one that was sent counts.
    found.sort((a, b) => a.index - b.index || a.order - b.order)
    return found.filter((candidate, i) => candidate.index !== found[i - 1]?.index)
  }

  #insert(pattern: PathPattern, index: number, order: number, matcher: Matcher): void {
    let node = this.#root
    for (const segment of pattern.segments) node = 'capture' in segment ? node.anyChild() : node.child(segment.text)
    const names = captureNames(pattern)
    this.#add({ index, order, matcher, names: names.length === 0 ? none : names }, node, pattern.open)
  }

  #add(entry: Entry, node: TreeNode, isOpen: boolean): void {
    this.#all.add(entry)
    if (isOpen) node.addBelow(entry)
    else node.addHere(entry)
  }
}

const none: readonly string[] = []
/** Of a path that was not taken apart: every capture is there, and empty. */
const noCaptures: readonly string[] = []

// Most nodes have little of their own, so everything is made when it is needed: what is not there need not be looked
// at.
class TreeNode {
  here: EntryList | undefined
  below: EntryList | undefined
  children: Map<string, TreeNode> | undefined
  any: TreeNode | undefined

  addHere(entry: Entry): void {
    this.here ??= new EntryList()
    this.here.add(entry)
  }

  addBelow(entry: Entry): void {
    this.below ??= new EntryList()
    this.below.add(entry)
  }

  get hasChildren(): boolean {
    return this.children !== undefined || this.any !== undefined || this.here !== undefined
  }

  child(text: string): TreeNode {
    this.children ??= new Map()
    let node = this.children.get(text)
    if (!node) {
      node = new TreeNode()
      this.children.set(text, node)
    }
    return node
  }

  anyChild(): TreeNode {
    this.any ??= new TreeNode()
    return this.any
  }
}

const slash = 47

// Segments are cut off one by one as the tree asks for them, so an endless path costs no more than the tree is deep.
function walk(
  node: TreeNode,
  path: string,
  from: number,
  captures: string[],
  request: RequestView,
  nowMs: number,
  found: Candidate[],
): void {
  if (node.below) collect(node.below, captures, request, nowMs, found)
  let start = from
  while (path.charCodeAt(start) === slash) start++
  if (start >= path.length) {
    if (node.here) collect(node.here, captures, request, nowMs, found)
    return
  }
  if (!node.any && !node.children) return
  const next = path.indexOf('/', start)
  const end = next < 0 ? path.length : next
  const segment = path.slice(start, end)
  const child = node.children?.get(comparedSegment(segment))
  if (child) walk(child, path, end, captures, request, nowMs, found)
  if (node.any) {
    captures.push(decodeSegment(segment))
    walk(node.any, path, end, captures, request, nowMs, found)
    captures.pop()
  }
}

function collect(
  list: EntryList,
  captures: readonly string[],
  request: RequestView,
  nowMs: number,
  found: Candidate[],
): void {
  list.each(request, ({ index, order, matcher, names }) => {
    if (!hasMethod(matcher.methods, request) || (request.preflight && !matcher.patterns)) return
    for (const condition of matcher.conditions) if (!condition.holds(request, nowMs)) return
    found.push({ index, order, captured: names.length === 0 ? undefined : { names, values: captures.slice() } })
  })
}

/** One way into a rule: one of its patterns, or the lack of any. */
interface Entry {
  readonly index: number
  /** The index of the pattern among those of the rule. */
  readonly order: number
  readonly matcher: Matcher
  readonly names: readonly string[]
}

const noEntries: readonly Entry[] = []

/** Rules that share a path. Those that want a field to have a value are found by the value the request has there. */
class EntryList {
  readonly #plain: Entry[] = []
  #fields: { readonly selector: Selector; readonly byValue: Map<string, Entry[]> }[] | undefined

  add(entry: Entry): void {
    const condition = entry.matcher.conditions.find(({ values }) => values !== undefined)
    if (!condition) {
      this.#plain.push(entry)
      return
    }
    const { values } = condition
    const selector = condition.selector!
    this.#fields ??= []
    let field = this.#fields.find((known) => known.selector.text === selector.text)
    if (!field) {
      field = { selector, byValue: new Map() }
      this.#fields.push(field)
    }
    for (const value of values!) {
      const entries = field.byValue.get(value)
      if (entries) entries.push(entry)
      else field.byValue.set(value, [entry])
    }
  }

  /** Passes every rule that may apply to the request to a callback. */
  each(request: RequestView, visit: (entry: Entry) => void): void {
    for (const entry of this.#plain) visit(entry)
    if (!this.#fields) return
    for (const { selector, byValue } of this.#fields) {
      const text = selector.read(request, undefined)
      if (text === undefined) {
        // Any of several texts may lead to an entry, and a field that cannot be read leads to all of them.
        const texts = selector.isUnreadable(request) ? [...byValue.keys()] : selector.texts(request)
        for (const entry of new Set(texts.flatMap((each) => byValue.get(each) ?? noEntries))) visit(entry)
      } else for (const entry of byValue.get(text) ?? noEntries) visit(entry)
    }
  }
}
