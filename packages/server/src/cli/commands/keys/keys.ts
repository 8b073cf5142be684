import { isCacheKey } from 'sluice/cache'
import { isUnused } from '../../../http/routes/decisions/keys.ts'
import type { Decision } from '../../../shapes/decisions.ts'
import { CliError, outOfReach, wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { decisionHead, decisionLines, limitTable } from '../../show/decision.ts'
import { onStore, onTarget } from '../../target/on-target.ts'
import { keyOf, type NamedKey, readKey, readRequest } from '../../target/subject.ts'
import type { SpendOptions, Target } from '../../target/target.ts'
import { duration } from '../../terminal/numbers.ts'
import { columns, safe } from '../../terminal/text.ts'
import { inspectCache, showUpstream, upstreamNamespace } from './inspect-redis.ts'

/** Spends from a key or for a request; exits with 1 when denied. */
export async function check(input: Input, terminal: Terminal): Promise<ExitCode> {
  const request = readRequest(input)
  const [text] = input.args
  if (request === undefined && text === undefined) {
    throw wrongUse('check needs KEY, or --path for a request', 'such as: sluice check example/per-user/42')
  }
  if (request !== undefined && text !== undefined) throw wrongUse('check takes KEY or --path, not both')
  const options = { cost: input.whole('cost', 0), tier: input.text('tier'), class: input.text('class') }
  for (const [name, field] of [
    ['class', 'class=prod'],
    ['tier', 'user.plan=pro'],
  ] as const)
    if (request !== undefined && options[name] !== undefined)
      throw wrongUse(`--${name} is of a KEY; the ${name} of a request is read from it`, `such as: --context ${field}`)
  const decision = await onTarget(input, async (target) =>
    request === undefined
      ? taken(target, readKey(text ?? '', input.text('rule')), options)
      : target.check(request, options),
  )
  terminal.result(decision, () => terminal.lines(decisionLines(decision, terminal.style)))
  return decision.allowed ? 0 : 1
}

/** A service that names a tier which is gone gets the default one; a person has mistyped it, and spends nothing. */
async function taken(target: Target, key: NamedKey, options: SpendOptions): Promise<Decision> {
  if (options.tier !== undefined)
    await target.inspect(key, options.tier).catch((error) => {
      // With a token for decisions only, it cannot be known.
      if (!(error instanceof CliError && error.exitCode === 4)) throw error
    })
  return target.take(key, options)
}

/** Says of every rule whether it applies to a request and why; spends nothing. */
export async function explain(input: Input, terminal: Terminal): Promise<ExitCode> {
  const request = readRequest(input)
  if (request === undefined)
    throw wrongUse('explain needs --path', 'such as: sluice explain -X POST --path /v1/analyze')
  const explanation = await onTarget(input, (target) => target.explain(request))
  const { service, policyVersion, rules, decision } = explanation
  terminal.result(explanation, () => {
    const { style } = terminal
    const asked = style.strong(safe(`${request.method} ${request.path}`))
    terminal.line(`${asked} by policy ${service} version ${policyVersion}`)
    for (const { rule, mode, matched, why, key, tier, cost, limits, fixed } of rules) {
      const watching = mode === 'shadow' ? style.warn(' (shadow: only watches)') : ''
      terminal.line()
      terminal.line(`${matched ? style.good('applies') : style.faint('skipped')}  ${style.strong(rule)}${watching}`)
      terminal.line(`  why   ${safe(why)}`)
      if (key !== null) terminal.line(`  key   ${style.accent(safe(key))}`)
      if (tier !== null) terminal.line(`  tier  ${safe(tier)}`)
      if (cost !== null && cost !== 1) terminal.line(`  cost  ${cost}`)
      if (fixed !== null) terminal.line(`  ${style[fixed === 'deny' ? 'bad' : 'good'](fixed)}`)
      terminal.lines(limitTable(limits, style), '  ')
    }
    terminal.line()
    if (decision) return terminal.line(`Now it would be ${decisionHead(decision, style)}`)
    terminal.line(style.warn('Not known: it depends on a tier that is not known here.'))
    const { key } = rules.find(({ tierUnknown }) => tierUnknown)!
    terminal.line('Say what the service says of the request, such as --context user.plan=pro,')
    terminal.line(`or look at the limits of one tier: sluice inspect ${safe(key!)} --tier NAME`)
  })
  return decision?.allowed ? 0 : 1
}

/** Shows the limits of a key and what is held of them. */
export async function inspect(input: Input, terminal: Terminal): Promise<ExitCode> {
  const given = input.args[0] ?? ''
  if (given.startsWith(upstreamNamespace)) return showUpstream(given, input, terminal)
  if (isCacheKey(given)) return inspectCache(given, input, terminal)
  const key = keyOf(input)
  return onStore<ExitCode>(input, async (target) => {
    const inspection = await target.inspect(key, input.text('tier'))
    const { limits, fixed, tierUnknown, holds } = inspection
    // What is counted has at least one limit; there is none only when the store was not asked.
    if (limits.length === 0 && !fixed && !tierUnknown)
      throw outOfReach('the store could not be asked', { hint: 'see: sluice doctor' })
    terminal.result(inspection, () => {
      const { style } = terminal
      terminal.line(`${style.strong(safe(inspection.key))}  ${style.faint(`by ${target.description}`)}`)
      if (inspection.degraded)
        terminal.line(`  ${style.warn('degraded: the store does not answer; this is only what one process knows')}`)
      if (tierUnknown) terminal.line('  its tier is not known here, and so its limits are not: name one with --tier')
      if (fixed) terminal.line(`  ${style[fixed === 'deny' ? 'bad' : 'good'](fixed)}`)
      terminal.lines(limitTable(limits, style), '  ')
      if (holds.length === 0) return
      terminal.line()
      terminal.line(style.strong('Open holds'))
      const rows = holds.map(({ id, cost, expiresInMs }) => [
        safe(id),
        `${cost} units`,
        `expires in ${duration(expiresInMs)}`,
      ])
      terminal.lines(columns(rows), '  ')
    })
    return 0
  })
}

/** Forgets what a key has used. */
export async function reset(input: Input, terminal: Terminal): Promise<ExitCode> {
  const key = keyOf(input)
  return onStore<ExitCode>(input, async (target) => {
    // Inspect it first: for its full name, and to report a key that does not exist.
    const before = await target.inspect(key, undefined)
    const stored = before.tierUnknown || !isUnused(before)
    await target.reset(key)
    const done = `${terminal.style.good('reset')} ${safe(before.key)}${stored ? '' : ': nothing was stored'}`
    terminal.result({ reset: true, key: before.key, stored }, () => terminal.line(at(done, target, terminal)))
    return 0
  })
}

/** The longest period that a policy may name. */
const longestBlockMs = 400 * 86_400_000

/** Lets nothing of a key pass for a while. */
export async function block(input: Input, terminal: Terminal): Promise<ExitCode> {
  const key = keyOf(input)
  const given = input.text('for')
  if (given === undefined || input.duration('for', 1, longestBlockMs) === undefined)
    throw wrongUse('say for how long: --for 15m')
  // A number alone is milliseconds, as in every option.
  const length = /^[\d_]+$/.test(given) ? `${given.replaceAll('_', '')}ms` : given
  return onStore<ExitCode>(input, async (target) => {
    const { key: name } = await target.inspect(key, undefined)
    await target.block(key, length)
    const done = `${terminal.style.bad('blocked')} ${safe(name)} for ${length}`
    terminal.result({ blocked: true, key: name }, () => terminal.line(at(done, target, terminal)))
    return 0
  })
}

/** Ends the block of a key. */
export async function unblock(input: Input, terminal: Terminal): Promise<ExitCode> {
  const key = keyOf(input)
  return onStore<ExitCode>(input, async (target) => {
    const { key: name } = await target.inspect(key, undefined)
    const unblocked = await target.unblock(key)
    const done = `${terminal.style.good('unblocked')} ${safe(name)}${unblocked ? '' : ': it was not blocked'}`
    terminal.result({ unblocked, key: name }, () => terminal.line(at(done, target, terminal)))
    return 0
  })
}

function at(done: string, { description }: { readonly description: string }, { style }: Terminal): string {
  return `${done}  ${style.faint(`at ${description}`)}`
}
