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
}

/**
 * Measures a document before anything else looks at it, and refuses what no policy needs and a reader could trip over: depth, a
 * document that contains itself, aliases that multiply, and fields called `__proto__`.
 */
export function measureDocument(document: unknown, report: Report): DocumentSize | undefined {
  const measure = new Measure()
  try {
    measure.walk(document)
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

// What is referred to twice is walked twice: the bound on values then also holds for whatever aliases multiply to.
class Measure implements DocumentSize {
  values = 0
  fields = 0
  readonly #keys: (string | number)[] = []
  readonly #holders: object[] = []

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
      for (let i = 0; i < value.length; i++) this.#step(i, value[i])
    } else {
      for (const key of Object.keys(value)) {
        this.fields++
        this.#step(key, (value as Record<string, unknown>)[key])
      }
    }
    this.#holders.pop()
  }

  #step(key: string | number, value: unknown): void {
    this.#keys.push(key)
    if (key === '__proto__') throw new OutOfBounds(undefined, 'no field can have this name')
    this.walk(value)
    this.#keys.pop()
  }
}
