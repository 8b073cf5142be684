import { type Key, type Limiter, SluiceError } from 'sluice'

/**
 * Refuses a key that no request can have, as its number of parts is not that of the rule's key: what a person does with
 * it would have no effect, or another than was meant.
 */
export function checkKey({ policy }: Limiter, key: Key, rule: string | undefined): void {
  const why = policy.whyNoRequestHas(key, rule)
  if (why === undefined) return
  const name = rule ?? policy.rules[0]
  throw new SluiceError(
    'SLUICE_INVALID_KEY',
    `No request that the rule ${JSON.stringify(name)} meets has this key: ${why}.`,
  )
}
