import { createHash, timingSafeEqual } from 'node:crypto'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Checks the token of internal callers in constant time. Two may be valid at once, so that they can be rotated. */
export function tokenCheck(tokens: readonly string[]): (given: string | undefined) => boolean {
  const valid = tokens.map(digest)
  return (given) => {
    if (valid.length === 0) return true
    const shown = digest(given ?? '')
    // All are compared, so that the time does not reveal which one matches.
    return valid.map((each) => timingSafeEqual(each, shown)).includes(true)
  }
}

/** The tokens of the environment: the current one, and the next one while they are rotated. */
export function tokensIn(env: Readonly<Record<string, string | undefined>>): string[] {
  return [env.INTERNAL_SERVICE_TOKEN, env.INTERNAL_SERVICE_TOKEN_NEXT].filter(
    (token) => token !== undefined && token !== '',
  ) as string[]
}
