/**
 * A URL for logs and pages: user, password and every parameter that may hold a secret are left out.
 *
 * @example hideSecrets('redis://:secret@10.0.0.1/2') // 'redis://***@10.0.0.1/2'
 */
export function hideSecrets(text: string): string {
  return hideParameters(text.replace(/:\/\/\S*@/g, '://***@'))
}

/** The same for a text that is one URL: a password that was not encoded may hold any character. */
export function hideUrl(url: string): string {
  return hideParameters(url.replace(/\/\/.*@/s, '//***@'))
}

/**
 * Whether an `@` comes after the end of the host. Then a password was not percent-encoded, and a part of it would be
 * taken for the host, which is looked up and shown.
 */
export function hasSplitPassword(url: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*[/?#\\].*@/is.test(url)
}

export const percentEncode =
  'in a password, percent-encode whatever is no letter or digit: / is %2F, @ is %40, # is %23, ? is %3F'

function hideParameters(text: string): string {
  return text.replace(/([?&][^=&\s]*(?:pass|secret|token|key)[^=&\s]*=)[^&\s]*/gi, (whole, name: string) =>
    // The Redis key of a policy is no secret, and it is what distinguishes two of them.
    /^[?&]key=$/i.test(name) ? whole : `${name}***`,
  )
}
