/**
 * A URL for logs and pages: user, password and every parameter that may hold a secret are left out.
 *
 * @example hideSecrets('redis://:secret@10.0.0.1/2') // 'redis://***@10.0.0.1/2'
 */
export function hideSecrets(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/)[^/?#\s]*@/gi, '$1***@')
    .replace(/([?&][^=&\s]*(?:pass|secret|token|key)[^=&\s]*=)[^&\s]*/gi, (whole, name: string) =>
      // The Redis key of a policy is no secret, and the one thing that tells two of them apart.
      /^[?&]key=$/i.test(name) ? whole : `${name}***`,
    )
}
