import { type Block, formatBlock, parseBlock } from '../../core/address.ts'
import { noneCalled } from '../../core/did-you-mean.ts'
import type { ListEntrySpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import { isDated, isWithin, readTerm, type Term } from '../document/term.ts'
import type { Steps } from '../steps.ts'

/** Texts that stand in a list, each for its term. */
export interface Members {
  /** Whether a text is in it; undefined when that cannot be told. */
  has(text: string, nowMs: number): boolean | undefined
}

interface Entry {
  readonly text: string
  readonly term: Term
  readonly path: string
}

/** One list of a policy, which conditions read as texts or as networks. */
export interface List {
  readonly dated: boolean
  readonly entries: readonly Entry[]
}

export type Lists = ReadonlyMap<string, List>

/** Compiles `lists`. */
export function* compileLists(
  specs: Readonly<Record<string, readonly ListEntrySpec[]>> | undefined,
  report: Report,
): Steps<Lists> {
  const lists = new Map<string, List>()
  for (const [name, list] of Object.entries(specs ?? {})) {
    const entries: Entry[] = []
    const seen = new Set<string>()
    for (const [i, spec] of list.entries()) {
      const path = `lists.${name}[${i}]`
      const form = typeof spec === 'object' ? spec : { value: spec }
      const text = String(form.value)
      if (text === '' || text === '*') report(path, spec, 'write a text, a prefix such as acme-*, or a network')
      if (seen.has(text)) report(path, spec, 'it is in the list already; keep one of them')
      seen.add(text)
      entries.push({ text, term: readTerm(form, path, report), path })
      if (i % 256 === 0) yield
    }
    lists.set(name, { entries, dated: list.some((spec) => typeof spec === 'object' && isDated(spec)) })
  }
  return lists
}

/** Finds a list by the name that a rule has for it. */
export function findList(lists: Lists, name: string, path: string, report: Report): List | undefined {
  const list = lists.get(name)
  if (list) return list
  report(path, name, noneCalled('list', name, lists.keys()))
  return undefined
}

const always: Term = { fromMs: -Infinity, untilMs: Infinity }

/** Entries without an end. */
export function endlessEntries(texts: readonly string[], path: string): readonly Entry[] {
  return texts.map((text) => ({ text, term: always, path }))
}

/** Entries as texts: in full, or as prefixes where they end with `*`. One lookup for each length of a prefix. */
export function textMembers(entries: readonly Entry[], ignoreCase: boolean): Members {
  const folded = ignoreCase ? (text: string): string => text.toLowerCase() : (text: string): string => text
  const exact = new Map<string, Term>()
  const byLength = new Map<number, Map<string, Term>>()
  for (const { text, term } of entries) {
    if (!/(?:^|[^\\])\*$/.test(text)) exact.set(folded(text.replace(/\\\*$/, '*')), term)
    else {
      const start = folded(text.slice(0, -1))
      const prefixes = byLength.get(start.length) ?? new Map<string, Term>()
      byLength.set(start.length, prefixes.set(start, term))
    }
  }
  return {
    has(given, nowMs) {
      const text = folded(given)
      if (isIn(exact.get(text), nowMs)) return true
      for (const [length, prefixes] of byLength) if (isIn(prefixes.get(text.slice(0, length)), nowMs)) return true
      return false
    },
  }
}

/**
 * Entries as networks. Clients with IPv6 are known by a block, such as a /64: an entry within it stands for all of it.
 */
export function networkMembers(entries: readonly Entry[], report: Report): Members {
  const networks: (Block & { readonly term: Term })[] = []
  for (const { text, term, path } of entries) {
    const block = parseBlock(text)
    if (block) networks.push({ ...block, term })
    else report(path, text, 'use an address or a network such as 10.0.0.0/8, as a rule compares it with addresses')
  }
  // By how many bits of a client's address are known, then by how many are compared.
  const known = new Map<string, ReadonlyMap<number, ReadonlyMap<string, readonly Term[]>>>()
  return {
    has(text, nowMs) {
      const client = parseBlock(text)
      if (!client) return undefined
      const form = `${client.address.family}/${client.prefix}`
      let byBits = known.get(form)
      if (!byBits) {
        byBits = indexFor(client, networks)
        known.set(form, byBits)
      }
      for (const [bits, byBlock] of byBits) {
        const terms = byBlock.get(formatBlock(client.address, bits, bits))
        if (terms?.some((term) => isIn(term, nowMs))) return true
      }
      return false
    },
  }
}

function indexFor(
  { address, prefix }: Block,
  networks: readonly (Block & { readonly term: Term })[],
): ReadonlyMap<number, ReadonlyMap<string, readonly Term[]>> {
  const byBits = new Map<number, Map<string, Term[]>>()
  for (const network of networks) {
    if (network.address.family !== address.family) continue
    const bits = Math.min(prefix, network.prefix)
    const byBlock = byBits.get(bits) ?? new Map<string, Term[]>()
    byBits.set(bits, byBlock)
    const block = formatBlock(network.address, bits, bits)
    byBlock.set(block, [...(byBlock.get(block) ?? []), network.term])
  }
  return byBits
}

function isIn(term: Term | undefined, nowMs: number): boolean {
  return term !== undefined && isWithin(term, nowMs)
}
