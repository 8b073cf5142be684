/** The most hops that are followed; a longer chain ends there. */
export const maxHops = 1000

const quote = 34
const comma = 44
const backslash = 92

/**
 * The elements of a list header from the right, which is the end that the nearest proxy wrote. What a client put
 * further left cannot change how these are read, whatever quotes it left open. Empty elements are skipped.
 */
export function* fromTheRight(header: string): Generator<string, void> {
  let end = header.length
  let isQuoted = false
  let hops = 0
  for (let i = header.length - 1; i >= 0 && hops < maxHops; i--) {
    const code = header.charCodeAt(i)
    if (code === quote && !isEscaped(header, i)) isQuoted = !isQuoted
    else if (code === comma && !isQuoted) {
      const element = header.slice(i + 1, end).trim()
      end = i
      if (element === '') continue
      hops++
      yield element
    }
  }
  const first = header.slice(0, end).trim()
  if (first !== '' && hops < maxHops) yield first
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (before >= 0 && text.charCodeAt(before) === backslash) before--
  return (at - before) % 2 === 0
}

const pair = /\s*([^\s;=",]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;",]*))\s*(?:;|$)|\s*(?:;|$)/y

/**
 * The node that an element of `Forwarded` names as the client of a hop (RFC 7239, section 4); empty where it is
 * malformed. All pairs are read, as a quoted value may hold anything: a proxy copies the client's `Host` into `host`. A
 * parameter that comes twice is malformed, since one of the two may be the client's.
 */
export function forOf(element: string): string {
  // No node name is longer; and the pattern never looks at a wall of text.
  if (element.length > 1024) return ''
  let node: string | undefined
  pair.lastIndex = 0
  while (pair.lastIndex < element.length) {
    const match = pair.exec(element)
    if (match === null) return ''
    if (match[1]?.toLowerCase() !== 'for') continue
    if (node !== undefined) return ''
    node = match[2]?.replace(/\\(.)/g, '$1') ?? match[3]!
  }
  return node ?? ''
}
