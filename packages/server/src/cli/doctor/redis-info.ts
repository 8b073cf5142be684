/** The fields of an INFO reply. */
export function infoFields(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(/\r?\n/).flatMap((line) => {
    const at = line.indexOf(':')
    return at < 1 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const]
  })
  return new Map(pairs)
}

/** Whether a version such as `7.0.15` is at least `major.minor`. */
export function isAtLeast(version: string, major: number, minor: number): boolean {
  const [a = 0, b = 0] = version.split('.').map(Number)
  return a > major || (a === major && b >= minor)
}
