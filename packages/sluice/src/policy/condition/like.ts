/**
 * Whether a text fits a pattern in which each `*` stands for any characters, also none. It looks at each part once,
 * from left to right, so that no text makes it slow.
 *
 * @example compileLike('/files/*.pdf')('/files/a.pdf') // true
 */
export function compileLike(pattern: string): (text: string) => boolean {
  const [first, ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return (text) => text === pattern
  return (text) => {
    const end = text.length - last.length
    let at = first!.length
    if (at > end || !text.startsWith(first!) || !text.endsWith(last)) return false
    for (const part of rest) {
      const found = text.indexOf(part, at)
      if (found < 0 || found + part.length > end) return false
      at = found + part.length
    }
    return true
  }
}
