import { nearestWord } from 'sluice/internal'
import { wrongOption } from '../connections/option-error.ts'

const prefix = 'SLUICE_'
/**
 * Variables that Kubernetes sets for services such as `sluice` and `sluice-redis`: `SLUICE_PORT_8440_TCP_ADDR` and so
 * on.
 */
const ofKubernetes = /_SERVICE_(HOST|PORT)(_\w+)?$|_PORT(_\d+_(TCP|UDP)\w*)?$/
/** Without these the daemon would count in memory, enforce an example or be open, and nobody would notice. */
const mustBeRead = /^SLUICE_(REDIS|REQUIRE|POLICY|ADMIN|DECIDE|COLLECT|TLS|PROXY|TRUSTED|FORWARDED|WAIT)/

/**
 * Warnings about variables `SLUICE_*` that nothing reads. Throws where ignoring one would be dangerous: by its own
 * name, or by the one that was meant.
 */
export function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): readonly string[] {
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith(prefix) && env[name] !== '' && !known.includes(name) && !ofKubernetes.test(name),
  )
  const words = known.filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length))
  return unknown.map((name) => {
    const meant = wordsMeant(name.slice(prefix.length), words).map((word) => `${prefix}${word}`)
    const hint = meant.length === 0 ? '' : `; did you mean ${listed(meant)}?`
    if ([name, ...meant].some((each) => mustBeRead.test(each)))
      throw wrongOption(name, '***', `there is no such variable${hint}`)
    return `There is no variable ${name}${hint || '.'} It is ignored.`
  })
}

/** The nearest word, or else those about the same thing: `TLS_CA` is near to none, but all of `TLS_` may be meant. */
function wordsMeant(word: string, known: readonly string[]): readonly string[] {
  const near = nearestWord(word, known)
  if (near !== undefined) return [near]
  const about = /^[^_]+_/.exec(word)?.[0]
  return about === undefined ? [] : known.filter((each) => each.startsWith(about))
}

function listed(names: readonly string[]): string {
  return names.join(', ').replace(/, ([^,]+)$/, ' or $1')
}
