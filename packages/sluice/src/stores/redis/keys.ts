import type { Charge } from '../../core/engine/ask.ts'

/**
 * Makes the Redis keys of charges. Encoded keys contain no braces, so the whole key chooses the cluster slot. The start
 * that all keys of a rule share is put together only when the rule changes.
 */
export function keysUnder(prefix: string): (charge: Charge) => string {
  let rule: string | undefined
  let beginning = ''
  return (charge) => {
    if (charge.rule.prefix !== rule) {
      rule = charge.rule.prefix
      beginning = prefix + rule
    }
    return beginning + charge.subject
  }
}
