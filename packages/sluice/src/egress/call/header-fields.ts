/** Names in lower case and values, alternating. A repeated header is repeated here. */
export type HeaderFields = readonly string[]

/** Raw headers as text. */
export function headerFields(raw: readonly Buffer[]): HeaderFields {
  const fields: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    // Some dispatchers give several values of a name as a list, and some give text.
    const [name, value] = [raw[at], raw[at + 1]] as [unknown, unknown]
    const key = textOf(name).toLowerCase()
    if (Array.isArray(value)) for (const each of value) fields.push(key, textOf(each))
    else fields.push(key, textOf(value))
  }
  return fields
}

function textOf(part: unknown): string {
  return part instanceof Uint8Array ? (part as Buffer).toString('latin1') : String(part)
}

/** Header fields by name; repeated ones are joined. */
export function namedFields(fields: HeaderFields): Record<string, string> {
  const named: Record<string, string> = {}
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name, value] = [fields[at]!, fields[at + 1]!]
    named[name] = named[name] === undefined ? value : `${named[name]}, ${value}`
  }
  return named
}
