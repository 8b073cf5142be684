/** What the key is read from. Everything but the address is what the client says. */
export interface Sender {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: unknown
  /** The address of the client in its one spelling, from the adapter. */
  readonly ip: string | undefined
}

/** Only what a key can be told apart by: text that does not contain the separator. */
const isName = (value: unknown): value is string => typeof value === 'string' && /^[^:]{1,100}$/.test(value)

/** Whose limits apply: the premium API key, else tenant and language, else the user, else the address. */
export function rateLimitKey({ headers, body, ip }: Sender, premiumKeys: ReadonlySet<string>): string {
  // Only a known key makes a request premium: an invented one must not open a new bucket.
  const apiKey = headers['x-api-key']
  if (isName(apiKey) && premiumKeys.has(apiKey)) return `apiKey:${apiKey}`
  const { tenant_id: tenant, language } = (body ?? {}) as Record<string, unknown>
  if (isName(tenant) && isName(language)) return `tenant:${tenant}:lang:${language}`
  if (isName(headers.user_id)) return `user:${headers.user_id}`
  return `ip:${ip}`
}
