import type { Matcher } from '../condition/matcher.ts'
import type { RequestView } from '../request-view.ts'
import type { Selector } from '../selector/selector.ts'

/** One way into a rule: one of its patterns, or the lack of any. */
export interface Entry {
  readonly index: number
  /** The index of the pattern among those of the rule. */
  readonly order: number
  readonly matcher: Matcher
  readonly names: readonly string[]
}

const none: readonly Entry[] = []

/** Rules that share a path. Those that want a field to have a value are found by the value the request has there. */
export class EntryList {
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
        for (const entry of new Set(texts.flatMap((each) => byValue.get(each) ?? none))) visit(entry)
      } else for (const entry of byValue.get(text) ?? none) visit(entry)
    }
  }
}
