type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}

/** Which requests the rules of a document limit, in words; undefined when every request meets a rule. */
export function limitedOnly(document: unknown): readonly string[] | undefined {
  const { rules } = fieldsOf(document)
  const keyed = (Array.isArray(rules) ? rules : []).map(fieldsOf).filter(isEnforced)
  const told = keyed.map((rule) => ({
    match: matchWords(rule.match),
    lacking: lackingOf(rule),
    name: String(rule.name),
  }))
  if (told.some(({ match, lacking }) => match === '' && lacking.length === 0)) return undefined
  return told.map(({ match, lacking, name }) => {
    const having = lacking.length === 0 ? '' : ` with ${lacking.join(' and ')}`
    return `${match || 'any'}${having} (${name})`
  })
}

/** A rule that limits requests all the time. */
function isEnforced({ key, mode, limits, from, until }: Fields): boolean {
  return key !== undefined && mode !== 'shadow' && limits !== 'unlimited' && from === undefined && until === undefined
}

/** The requests that a rule matches; empty for all. */
function matchWords(match: unknown): string {
  const { method, path, ...others } = fieldsOf(match)
  const paths = [path ?? []].flat()
  const isAnyPath = path === undefined || paths.some((each) => each === '/*' || each === '*')
  const conditions = Object.entries(others).map(([root, value]) => {
    const names = Object.keys(fieldsOf(value))
    return names.length === 0 ? root : names.map((name) => `${root}.${name}`).join(', ')
  })
  return [
    [method ?? []].flat().join('|'),
    isAnyPath ? '' : paths.join('|'),
    conditions.length === 0 ? '' : `where ${conditions.join(' and ')} fits`,
  ]
    .filter((part) => part !== '')
    .join(' ')
}

/** What a request needs so that the rule finds its key; nothing where it always does, or where it refuses the rest. */
function lackingOf({ key, onMissing }: Fields): readonly string[] {
  if (onMissing === 'deny') return []
  const { first } = fieldsOf(key)
  const alternatives = Array.isArray(first) ? first.map((each) => [each].flat()) : [[key].flat()]
  const lacking = alternatives.map((parts) => parts.map(String).filter((part) => !isAlwaysThere(part)))
  if (lacking.some((parts) => parts.length === 0)) return []
  return lacking.length === 1 ? lacking[0]! : [lacking.map((parts) => parts.join(' + ')).join(' or ')]
}

/** A function decides by itself; an address, a method and a path are in every request, and so is a default. */
const isAlwaysThere = (part: string): boolean =>
  /^(?:ip|method|path|params|fn:|'|")/.test(part.trim()) || part.includes('??')
