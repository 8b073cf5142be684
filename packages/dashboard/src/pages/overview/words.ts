import { formatNumber } from '../../format/number.ts'
import { formatDuration } from '../../format/time.ts'
import type { Happening } from '../../live/entries.ts'

/** How the store failed, in plain language. */
const failures: Readonly<Record<string, string>> = {
  timeout: 'did not answer in time',
  refused: 'cannot be reached',
  connection: 'lost the connection',
  readonly: 'accepts no writes',
  loading: 'is still loading its data',
  busy: 'is busy with a slow script',
  oom: 'is out of memory',
  cluster: 'has lost a part of its cluster',
  auth: 'refuses our credentials',
  full: 'is full',
  breaker: 'failed too often and is left alone for a moment',
}

const names: Readonly<Record<string, string>> = {
  redis: 'Redis',
  memory: 'The memory store',
}

export function storeName(name: string): string {
  return names[name] ?? name
}

export function failureWords(failure: string): string {
  return failures[failure] ?? `failed (${failure})`
}

/** What happened, and what it means. */
export function happeningWords(each: Happening, store: string): { readonly title: string; readonly note: string } {
  switch (each.kind) {
    case 'policy':
      return { title: `Policy ${each.version.slice(0, 7)} in force`, note: changeWords(each.changes) }
    case 'policy-rejected':
      return { title: 'A policy was refused, the last good one stays', note: each.message }
    case 'degraded':
      return {
        title: `${storeName(store)} ${failureWords(each.failure)}`,
        note: 'rules decide by what they say for a store failure',
      }
    case 'restarted':
      return { title: 'The daemon was restarted', note: 'what it counted in memory began anew' }
    case 'another-replica':
      return { title: 'Another replica is shown now', note: 'the address leads to several daemons' }
    case 'exact-again':
      return {
        title: `${storeName(store)} is back, counting is exact again`,
        note: `${formatNumber(each.decisions)} decisions were degraded in ${formatDuration((each.at - each.since) * 1000)}`,
      }
  }
}

function changeWords(changes: Extract<Happening, { kind: 'policy' }>['changes']): string {
  if (changes === null) return ''
  const lists = [
    ['changed', changes.changed],
    ['added', changes.added],
    ['removed', changes.removed],
  ] as const
  const said = lists.filter(([, names]) => names.length > 0).map(([verb, names]) => `${verb} ${few(names)}`)
  return [...said, ...(changes.tiers ? ['changed tiers'] : [])].join(', ') || 'no rule changed'
}

function few(names: readonly string[]): string {
  return names.length <= 3 ? names.join(', ') : `${names.slice(0, 2).join(', ')} and ${names.length - 2} more`
}
