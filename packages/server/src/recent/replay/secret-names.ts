import { createHmac, randomBytes } from 'node:crypto'

const secretWords =
  /auth|cookie|token|secret|passw|api[-_]?key|access[-_]?key|session|signature|credential|bearer|private/i

/** Whether a field probably holds a credential, judging by its name, such as `x-api-key`. */
export function isSecretName(name: string): boolean {
  return secretWords.test(name)
}

/** Whether a selector such as `headers.x-api-key | lower` reads such a field. */
export function isSecretSelector(selector: string): boolean {
  if (selector.trim().startsWith('cookies.')) return true
  const [, field] = /^(?:headers|query|params|body|context)([.[][^|?]*)/.exec(selector.trim()) ?? []
  return field !== undefined && isSecretName(field)
}

/** Replaces a text by a pseudonym: equal texts stay equal, and nothing else is kept. */
export type Hide = (text: string) => string

/** Hides with a key that lives as long as the process: what is kept cannot be compared with lists of known secrets. */
export function createHide(key: Buffer = randomBytes(32)): Hide {
  return (text) => `hidden-${createHmac('sha256', key).update(text).digest('hex').slice(0, 24)}`
}
