/** A step into a document: the name of a field, or an element of a list. */
export type Step = string | typeof element

export const element: unique symbol = Symbol('element of a list')

/** The path of a text position in a document, and whether a name or a value is written there. */
export interface YamlPlace {
  readonly path: readonly Step[]
  readonly writes: 'name' | 'value'
  /** Where the word that is being written begins. */
  readonly from: number
}

interface Line {
  readonly indent: number
  /** Where the name begins, after the dashes of lists. */
  readonly nameIndent: number
  readonly dashes: number
  readonly name: string | undefined
}

/** Finds the path by indentation, as the text is rarely complete while it is typed. */
export function yamlPlace(text: string, at: number): YamlPlace | undefined {
  const before = text.slice(0, at)
  const lines = before.split('\n')
  const present = lines.pop() ?? ''
  if (/^\s*#|\s#/.test(present)) return undefined
  const outer = blockPath(lines, present)
  const inner = flowPath(present)
  const rest = present.slice(inner.at)
  const [, name, value] = /^[\s{[,]*(?:- +)*(?:([\w$.-]+|"[^"]*"|'[^']*'):\s+)?([^\s:]*)$/.exec(rest) ?? []
  if (value === undefined) return undefined
  const path = [...outer, ...inner.path]
  const from = at - value.length
  return name === undefined
    ? { path, writes: 'name', from }
    : { path: [...path, unquoted(name)], writes: 'value', from }
}

function lineOf(text: string): Line | undefined {
  if (/^\s*(?:#|$)/.test(text)) return undefined
  const [, spaces = '', dashes = '', name] = /^( *)((?:- +)*)(?:([\w$.-]+|"[^"]*"|'[^']*'):(?:\s|$))?/.exec(text) ?? []
  return {
    indent: spaces.length,
    nameIndent: spaces.length + dashes.length,
    dashes: dashes.length,
    name: name === undefined ? undefined : unquoted(name),
  }
}

/** The fields and lists that contain a line, by its indentation and that of the lines above. */
function blockPath(above: readonly string[], present: string): Step[] {
  const [, spaces = '', dashes = ''] = /^( *)((?:-(?: +|$))*)/.exec(present) ?? []
  const path: Step[] = []
  let below = spaces.length
  if (dashes !== '') {
    path.unshift(element)
    // The dashes of a list may be below the name of the list.
    below = spaces.length + 1
  }
  for (let i = above.length - 1; i >= 0 && below > 0; i--) {
    const line = lineOf(above[i]!)
    if (line === undefined) continue
    if (line.name !== undefined && line.nameIndent < below) {
      path.unshift(line.name)
      below = line.nameIndent
    }
    if (line.dashes > 0 && line.nameIndent === below) {
      path.unshift(element)
      below = line.indent + 1
    }
  }
  return path
}

/** What is open in a line such as `limits: { rpm: 1, `, and where its last piece begins. */
function flowPath(line: string): { readonly path: readonly Step[]; readonly at: number } {
  const open: { readonly steps: readonly Step[]; readonly outerAt: number }[] = []
  let at = 0
  let quote = ''
  for (let i = 0; i < line.length; i++) {
    const c = line[i]!
    if (quote !== '') {
      if (c === quote) quote = ''
    } else if ((c === '"' || c === "'") && /[\s{[,:]$/.test(line.slice(0, i))) quote = c
    else if (c === '{' || c === '[') {
      const [, name] = /(?:([\w$.-]+|"[^"]*"|'[^']*'):\s*)$/.exec(line.slice(at, i)) ?? []
      const steps: Step[] = []
      if (name !== undefined) steps.push(unquoted(name))
      if (c === '[') steps.push(element)
      open.push({ steps, outerAt: at })
      at = i + 1
    } else if (c === '}' || c === ']') at = open.pop()?.outerAt ?? at
    else if (c === ',' && open.length > 0) at = i + 1
  }
  return { path: open.flatMap(({ steps }) => steps), at }
}

const unquoted = (name: string): string => name.replace(/^["']|["']$/g, '')
