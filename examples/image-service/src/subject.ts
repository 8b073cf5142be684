/** What a request contains about its sender. */
export interface Sender {
  /** The customer of a premium API key that is known; undefined for every other key. */
  readonly premium: string | undefined
  readonly tenant: unknown
  readonly model: unknown
  readonly user: unknown
  readonly address: string
}

/** Only what a key of the document can be: text that does not contain the separator. */
const named = (value: unknown): value is string => typeof value === 'string' && /^[^:]{1,100}$/.test(value)

/**
 * Whose limits apply, in the form of `custom_rate_limits`: the premium key, otherwise tenant and version of the model,
 * otherwise the user, otherwise the address.
 */
export function subjectOf({ premium, tenant, model = 'v1', user, address }: Sender): string {
  if (premium !== undefined) return `premium:${premium}`
  if (named(tenant) && named(model)) return `tenant:${tenant}:model:${model}`
  return named(user) ? `user:${user}` : `ip:${address}`
}
