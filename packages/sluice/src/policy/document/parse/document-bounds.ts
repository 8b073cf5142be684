import type { Steps } from '../../steps.ts'
import { runAtOnce } from '../../steps.ts'
import type { Report } from '../policy-error.ts'

/** Largest text of a policy, in UTF-16 units. */
export const maxDocumentLength: number = 16 * 1024 * 1024
const deepest = 32
const mostValues = 5_000_000

/** A list longer than this is measured in steps of this many items. */
const chunk = 256

/** How large a document is when everything it refers to more than once is written out. */
export interface DocumentSize {
  readonly values: number
  /** Fields of objects alone. */
  readonly fields: number
}

/** `measureSteps` in one go. */
export function measureDocument(document: unknown, report: Report): DocumentSize | undefined {
  return runAtOnce(measureSteps(document, report))
}

/**
 * Measures a document before anything else reads it, and refuses what no policy needs and a reader could fail on:
 * depth, a document that contains itself, aliases that multiply, and fields called `__proto__`.
 */
export function* measureSteps(document: unknown, report: Report): Steps<DocumentSize | undefined> {
  const measure = new Measure()
  try {
    measure.walk(document)
    yield* measure.longLists()
    return measure
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (error instanceof OutOfBounds) report(measure.path, error.value, message)
    else report(measure.path, document, `it cannot be read: ${message}`)
    return undefined
  }
}

class OutOfBounds extends Error {
  readonly value: unknown

  constructor(value: unknown, message: string) {
    super(message)
    this.value = value
  }
}

/** A list that is walked later, with the way that led to it. */
interface LongList {
  readonly items: readonly unknown[]
  readonly keys: readonly (string | number)[]
  readonly holders: readonly object[]
}

// What is referred to twice is walked twice: the bound on values then also holds for whatever aliases multiply to.
class Measure implements DocumentSize {
  values = 0
  fields = 0
  #keys: (string | number)[] = []
  #holders: object[] = []
  readonly #longLists: LongList[] = []

  get path(): string {
    const steps = this.#keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    return steps.join('').replace(/^\./, '')
  }

  walk(value: unknown): void {
    if (++this.values > mostValues)
      throw new OutOfBounds(value, `write at most ${mostValues} values, aliases written out`)
    if (typeof value !== 'object' || value === null) return
    if (this.#holders.includes(value)) throw new OutOfBounds(value, 'it contains itself')
    if (this.#holders.length >= deepest) throw new OutOfBounds(value, `nest at most ${deepest} levels`)
    this.#holders.push(value)
    if (Array.isArray(value)) {
      if (value.length > chunk) {
        // Lists that aliases multiply must not pile up here before the bound is met.
        if (this.#longLists.length > mostValues / chunk) throw new OutOfBounds(value, 'use fewer long lists')
        this.#longLists.push({ items: value, keys: [...this.#keys], holders: [...this.#holders] })
      } else for (let i = 0; i < value.length; i++) this.#step(i, value[i])
    } else {
      for (const key of Object.keys(value)) {
        this.fields++
        this.#step(key, (value as Record<string, unknown>)[key])
      }
    }
    this.#holders.pop()
  }

  /** Walks the lists that were put off; they may contain others. */
  *longLists(): Steps<void> {
    for (let list = this.#longLists.pop(); list !== undefined; list = this.#longLists.pop()) {
      this.#keys = [...list.keys]
      this.#holders = [...list.holders]
      for (let i = 0; i < list.items.length; i++) {
        this.#step(i, list.items[i])
        if (i % chunk === 0) yield
      }
    }
  }

  #step(key: string | number, value: unknown): void {
    this.#keys.push(key)
    if (key === '__proto__') throw new OutOfBounds(undefined, 'no field can have this name')
    this.walk(value)
    this.#keys.pop()
  }
}
