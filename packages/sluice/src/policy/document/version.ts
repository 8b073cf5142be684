import type { PolicyDocument } from './document.ts'

/** What a policy calls its version, else a short hash of all it says. */
export function versionOf(document: PolicyDocument): string {
  if (document.version !== undefined) return String(document.version)
  return hash(JSON.stringify(document, (_, value: unknown) => (typeof value === 'function' ? String(value) : value)))
}

// Two FNV-1a sums side by side. Versions only have to differ, and nobody gains by making two alike; SHA-256 would take half of the time
// that loading a hundred thousand overrides takes.
function hash(text: string): string {
  let a = 0x811c9dc5
  let b = 0x27d4eb2f
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    a = Math.imul(a ^ unit, 0x01000193)
    b = Math.imul(b ^ unit, 0x85ebca6b)
    b ^= b >>> 13
  }
  return [a, b].map((sum) => (sum >>> 0).toString(16).padStart(8, '0')).join('')
}
