import type { ReadKeyPart } from 'sluice'
import { encodeKey } from 'sluice/internal'
import { diffDocuments } from '../../../policy/diff-documents.ts'
import { editOverrides } from '../../../policy/overrides/edit-overrides.ts'
import { documentOf } from '../../../policy/rule-changes.ts'
import type { PolicyOutcome } from '../../../shapes/policy.ts'
import { CliError, wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { overrideLimits } from '../../options.ts'
import { daemonHttp } from '../../target/daemon-http.ts'
import { keyPath } from '../../target/daemon-target.ts'
import { readKey } from '../../target/subject.ts'
import { duration } from '../../terminal/numbers.ts'
import { safe } from '../../terminal/text.ts'
import { compileApart, showDifferences } from './change.ts'
import { onSource, type PolicyTarget, sourceNamed } from './policy-target.ts'

interface Change {
  readonly limits: unknown
  readonly until: string
}

interface Changed extends Pick<PolicyOutcome, 'version' | 'differences'> {
  readonly key: string
  readonly revision: number | null
}

const yearMs = 366 * 86_400_000

/** Gives one key other limits for a while, or removes them. */
export async function policyOverride(input: Input, terminal: Terminal): Promise<ExitCode> {
  const change = readChange(input)
  const place = sourceNamed(input)
  const changed =
    place === undefined
      ? await throughDaemon(input, change)
      : await onSource(place, (target) => atSource(target, input, change))
  const result = { ...changed, limits: change?.limits ?? null, until: change?.until ?? null }
  terminal.result(result, () => {
    const { style } = terminal
    showDifferences(changed.differences ?? [], terminal)
    const what = change === undefined ? 'without an override' : `${JSON.stringify(change.limits)} until ${change.until}`
    terminal.line(
      `${style.good('pushed')} as revision ${style.strong(String(changed.revision))}: ${style.strong(safe(changed.key))} ${safe(what)}`,
    )
    if (change !== undefined) terminal.line(style.faint(`ends in ${duration(Date.parse(change.until) - Date.now())}`))
  })
  return 0
}

function readChange(input: Input): Change | undefined {
  const short = Object.keys(overrideLimits).flatMap((name) => {
    const amount = input.whole(name, 0)
    return amount === undefined ? [] : [[name, amount] as const]
  })
  const text = input.text('limits')
  if (input.flag('remove')) {
    if (short.length > 0 || text !== undefined || input.given('for'))
      throw wrongUse('--remove takes neither limits nor --for')
    return undefined
  }
  if ((short.length === 0) === (text === undefined))
    throw wrongUse('say which limits: --rpm 500, or --limits unlimited', 'or --remove, to end an override')
  const ms = input.duration('for', 1000, yearMs)
  if (ms === undefined) throw wrongUse('say for how long: --for 1h', 'limits without an end belong into the policy')
  return {
    limits: text === undefined ? Object.fromEntries(short) : parsed(text),
    until: new Date(Math.ceil((Date.now() + ms) / 1000) * 1000).toISOString(),
  }
}

function parsed(text: string): unknown {
  if (text === 'unlimited' || text === 'deny') return text
  try {
    return JSON.parse(text)
  } catch (error) {
    throw wrongUse(`--limits is neither unlimited nor deny nor JSON: ${(error as Error).message}`)
  }
}

/** Only on top of the version that is in force now, so that nobody's change is lost. */
async function throughDaemon(input: Input, change: Change | undefined): Promise<Changed> {
  const daemon = daemonHttp(input)
  const path = await keyPath(daemon, readKey(input.args[0] ?? '', input.text('rule')), '/v1/policy/overrides/')
  const etag = (await daemon.fetch('GET', '/v1/policy')).headers.get('etag') ?? ''
  const answer = (await daemon.send(change === undefined ? 'DELETE' : 'PUT', path, {
    headers: { 'if-match': etag, 'content-type': 'application/json' },
    ...(change === undefined ? {} : { body: JSON.stringify(change) }),
  })) as PolicyOutcome
  const { version, differences, revision } = answer
  const key = decodeURIComponent(path.slice('/v1/policy/overrides/'.length))
  return { key, version, differences, revision: revision ?? null }
}

async function atSource(target: PolicyTarget, input: Input, change: Change | undefined): Promise<Changed> {
  const before = await target.current()
  const { policy } = compileApart(before)
  const named = readKey(input.args[0] ?? '', input.text('rule'))
  const rule = named.rule ?? (policy.rules.length === 1 ? policy.rules[0]?.name : undefined)
  if (rule === undefined) throw wrongUse(`the policy has ${policy.rules.length} rules; name one with --rule`)
  if (named.service !== undefined && named.service !== policy.service)
    throw wrongUse(`the key is of service ${JSON.stringify(named.service)}; the policy is of ${policy.service}`)
  const key = encodeKey([policy.service, rule, ...named.key] as ReadKeyPart[])
  const next = editOverrides(before, rule, named.key, change && { key: named.key, ...change })
  if (next === undefined) throw wrongUse(`the policy has no rule ${JSON.stringify(rule)} that can be edited`)
  const differences = diffDocuments(documentOf(before), documentOf(next))
  if (change === undefined && differences.length === 0)
    throw new CliError(2, 'not-found', `the policy has no override for ${JSON.stringify(key)}`)
  const compiled = compileApart(next).policy
  const subject = key.split('/').slice(2).join('/')
  if (change !== undefined && compiled.rule(rule)?.overrideFor(subject, Date.now()) !== 'in-force')
    throw wrongUse(
      `no request of the rule ${rule} has the key ${JSON.stringify(key)}`,
      'give the key as sluice top and sluice tail show it: a part with | hash is the hash',
    )
  const { revision } = await target.push(next)
  return { key, version: compiled.version, differences, revision }
}
