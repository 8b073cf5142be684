import type { Steps } from '../steps.ts'
import type { PolicyDocument } from './document.ts'

/** What a policy calls its version, else a short hash of all it says. */
export function* versionSteps(document: PolicyDocument): Steps<string> {
  if (document.version !== undefined) return String(document.version)
  const hash = new VersionHash()
  const rules = document.rules?.map(({ overrides: _, ...rule }) => rule)
  hash.add(textOf({ ...document, rules }))
  for (const { overrides = [] } of document.rules ?? []) {
    hash.add('overrides')
    for (const [i, override] of overrides.entries()) {
      hash.add(textOf(override))
      if (i % 256 === 0) yield
    }
  }
  return hash.text
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'function' ? String(inner) : inner))
}

// Two FNV-1a sums side by side. Versions only have to differ, and there is nothing to gain from a collision; SHA-256
// would take half of the time that loading a hundred thousand overrides takes.
class VersionHash {
  #a = 0x811c9dc5
  #b = 0x27d4eb2f

  add(text: string): void {
    let a = this.#a
    let b = this.#b
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      a = Math.imul(a ^ unit, 0x01000193)
      b = Math.imul(b ^ unit, 0x85ebca6b)
      b ^= b >>> 13
    }
    this.#a = a
    this.#b = b
  }

  get text(): string {
    return [this.#a, this.#b].map((sum) => (sum >>> 0).toString(16).padStart(8, '0')).join('')
  }
}
