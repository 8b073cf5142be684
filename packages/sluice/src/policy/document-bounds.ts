import type { Report } from './policy-error.ts'

/** Largest text of a policy, in UTF-16 units. */
export const maxDocumentLength: number = 16 * 1024 * 1024
const deepest = 32
const mostValues = 5_000_000

/** How large a document is when everything it refers to more than once is written out. */
export interface DocumentSize {
  readonly values: number
  /** Fields of objects alone. */
  readonly fields: number
  readonly height: number
}

/**
 * Measures a document before anything else looks at it, and refuses what no policy needs and a reader could trip over: depth, a
 * document that contains itself, aliases that multiply, and fields called `__proto__`.
 */
export function measureDocument(document: unknown, report: Report): DocumentSize | undefined {
  try {
    return new Measure().of(document)
  } catch (error) {
    if (error instanceof OutOfBounds) report(error.path, error.value, error.message)
    else report('', document, `it cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  }
}

class OutOfBounds extends Error {
  readonly path: string
  readonly value: unknown

  constructor(path: string, value: unknown, message: string) {
    super(message)
    this.path = path
    this.value = value
  }
}

const scalar: DocumentSize = { values: 1, fields: 0, height: 0 }

class Measure {
  /** What was measured already; undefined while it is being measured. */
  readonly #known = new Map<object, DocumentSize | undefined>()
  readonly #trail: string[] = []

  of(value: unknown): DocumentSize {
    if (typeof value !== 'object' || value === null) return scalar
    const known = this.#known.get(value)
    if (known && this.#trail.length + known.height <= deepest) return known
    if (!known && this.#known.has(value)) throw this.#wrong(value, 'it contains itself')
    if (this.#trail.length >= deepest) throw this.#wrong(value, `nest at most ${deepest} levels`)
    this.#known.set(value, undefined)
    const size = this.#sum(value)
    this.#known.set(value, size)
    return size
  }

  #sum(value: object): DocumentSize {
    const list = Array.isArray(value)
    const keys = Object.keys(value)
    let values = 1
    let fields = list ? 0 : keys.length
    let height = 0
    for (const key of keys) {
      this.#trail.push(list ? `[${key}]` : `.${key}`)
      if (key === '__proto__') throw this.#wrong(undefined, 'no field can have this name')
      const inner = this.of((value as Record<string, unknown>)[key])
      this.#trail.pop()
      values += inner.values
      fields += inner.fields
      height = Math.max(height, inner.height + 1)
      if (values > mostValues) throw this.#wrong(value, `write at most ${mostValues} values, aliases written out`)
    }
    return { values, fields, height }
  }

  #wrong(value: unknown, message: string): OutOfBounds {
    return new OutOfBounds(this.#trail.join('').replace(/^\./, ''), value, message)
  }
}
