import type { OnStoreFailure } from '../core/engine/ask.ts'
import type { FailureKind } from '../core/errors.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import { warn } from '../core/observe/warn-once.ts'
import type { CompiledRule } from '../policy/compiled-policy.ts'
import type { LimiterEvents } from './events.ts'

/** As many rules are named for each way of deciding without the store. */
const maxNames = 5

const does: Readonly<Record<OnStoreFailure, string>> = {
  open: 'let everything pass',
  closed: 'deny everything',
  local: 'decide on the share of this replica',
  recount: 'ask their source of truth',
}

/**
 * Warns once when the store goes away and once when it is back, unless somebody listens to `storeFailed`. What it says
 * comes from the policy and the kind of the failure, never from an error, which may name accounts or addresses.
 */
export function warnOfOutages(
  events: Emitter<LimiterEvents>,
  service: string,
  rules: () => readonly CompiledRule[],
): (failure: FailureKind | undefined) => void {
  let isToldOf = false
  return (failure) => {
    if (failure !== undefined && !events.has('storeFailed')) {
      isToldOf = true
      const told = `Its store cannot decide (${failure}). ${withoutStore(rules())} Listen to the event storeFailed instead of this warning.`
      warn('SLUICE_STORE_AWAY', `Limiter of the service ${service}: ${told}`)
    } else if (failure === undefined && isToldOf) {
      isToldOf = false
      warn('SLUICE_STORE_BACK', `Limiter of the service ${service}: its store decides again.`)
    }
  }
}

function withoutStore(rules: readonly CompiledRule[]): string {
  const sentences = (Object.keys(does) as OnStoreFailure[]).flatMap((mode) => {
    const names = rules.filter(({ onStoreFailure }) => onStoreFailure === mode).map(({ name }) => name)
    if (names.length === 0) return []
    const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : ''
    return `By onStoreFailure: ${mode}, these rules ${does[mode]}: ${names.slice(0, maxNames).join(', ')}${more}.`
  })
  return `Until it is back: ${sentences.join(' ')}`
}
