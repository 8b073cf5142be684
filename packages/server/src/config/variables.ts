import { nearestWord } from 'sluice/policy'
import { wrongOption } from './option-error.ts'

const prefix = 'SLUICE_'
/**
 * Variables that Kubernetes sets for services such as `sluice` and `sluice-redis`: `SLUICE_PORT_8440_TCP_ADDR` and so
 * on.
 */
const ofKubernetes = /_SERVICE_(HOST|PORT)(_\w+)?$|_PORT(_\d+_(TCP|UDP)\w*)?$/
/** Without these the daemon would count in memory, enforce an example or be open, and nobody would notice. */
const mustBeRead = /^SLUICE_(REDIS|POLICY|ADMIN|DECIDE|TRUSTED)/

/** Warnings about variables `SLUICE_*` that nothing reads. Throws where ignoring one would be dangerous. */
export function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): readonly string[] {
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith(prefix) && env[name] !== '' && !known.includes(name) && !ofKubernetes.test(name),
  )
  return unknown.map((name) => {
    const near = nearestWord(
      name.slice(prefix.length),
      known.filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length)),
    )
    const hint = near === undefined ? '' : `; did you mean ${prefix}${near}?`
    if (mustBeRead.test(name)) throw wrongOption(name, '***', `there is no such variable${hint}`)
    return `There is no variable ${name}${hint || '.'} It is ignored.`
  })
}
