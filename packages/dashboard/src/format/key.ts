/** A key for display: without the service and the rule, which are shown beside it. */
export function keyParts(key: string): string {
  return key.split('/').slice(2).map(readable).join(' / ')
}

/** A name for display: no character of it can hide, or change the direction of what follows. */
export function visible(name: string): string {
  return name.trim() === '' ? JSON.stringify(name) : name.replace(/\p{C}/gu, '\ufffd')
}

/**
 * Escapes of visible characters are undone. Characters that could mislead stay escaped, such as a change of direction,
 * and spaces that would not be seen.
 */
function readable(part: string): string {
  const spaced = unescaped(part, /[\p{L}\p{N}\p{P}\p{S} ]/u)
  return /^ | $| {2}/.test(spaced) ? unescaped(part, /[\p{L}\p{N}\p{P}\p{S}]/u) : spaced
}

function unescaped(part: string, shown: RegExp): string {
  return part.replace(/%([0-9a-f]{4})/gi, (escaped, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16))
    return shown.test(character) ? character : escaped
  })
}
