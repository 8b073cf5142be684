import type { Decision, Key, ReadKeyPart, RequestView } from 'sluice'
import type { CompiledPolicy, LivePolicy, ReadField } from 'sluice/policy'
import { documentOf } from '../../policy/rule-changes.ts'
import { keySelectorsOf } from './hide-in-document.ts'
import { keptText, keptView, maxFields, sizeOf } from './kept-view.ts'
import { type Hide, isSecretSelector } from './secret-names.ts'

/** A check by key, as `/v1/check` takes it. */
export interface AskedKey {
  readonly key: Key
  readonly rule: string | undefined
  readonly tier: string | undefined
  readonly class?: string | undefined
  readonly cost: number | undefined
}

/** A check by request: only what rules look at, once it is kept. */
export interface AskedRequest {
  readonly request: RequestView
  readonly cost: number | undefined
}

/** A request that was decided on: what was asked, when, and the outcome. */
export interface KeptRequest {
  readonly atMs: number
  readonly asked: AskedKey | AskedRequest
  readonly allowed: boolean
  /** The fields that were kept, if the request has them: shared by all requests under one policy. */
  readonly fields: readonly ReadField[]
}

export interface RingOptions {
  readonly maxRequests?: number
  readonly maxBytes?: number
  /** The selectors of the parts of a rule's key, so that parts that are secret can be hidden. */
  readonly keySelectors?: (rule: string | undefined) => readonly string[]
}

const defaults: Required<RingOptions> = Object.freeze({
  maxRequests: 10_000,
  maxBytes: 16 * 1024 * 1024,
  keySelectors: () => [],
})

interface Slot {
  readonly kept: KeptRequest
  readonly bytes: number
}

/**
 * The last requests this daemon decided on, to try a new policy with. Of each, only the fields that the policy in force
 * looks at are kept, with secrets hidden. Bounded in number and in bytes.
 */
export class RequestRing {
  readonly #policyOf: () => CompiledPolicy
  readonly #hide: Hide
  readonly #options: Required<RingOptions>
  readonly #slots: (Slot | undefined)[] = []
  #oldest = 0
  #next = 0
  #bytes = 0
  #known: { readonly policy: CompiledPolicy; readonly fields: readonly ReadField[] } | undefined

  constructor(policyOf: () => CompiledPolicy, hide: Hide, options: RingOptions = {}) {
    this.#policyOf = policyOf
    this.#hide = hide
    this.#options = { ...defaults, ...options }
  }

  get size(): number {
    return this.#next - this.#oldest
  }

  get bytes(): number {
    return this.#bytes
  }

  add(asked: AskedKey | AskedRequest, { allowed }: Pick<Decision, 'allowed'>, atMs: number): void {
    const fields = this.#fields()
    const kept = { atMs, asked: 'request' in asked ? this.#request(asked, fields) : this.#key(asked), allowed, fields }
    const bytes = 'request' in kept.asked ? sizeOf(kept.asked.request) : 200 + 2 * String(kept.asked.key).length
    while (this.size > 0 && (this.size >= this.#options.maxRequests || this.#bytes + bytes > this.#options.maxBytes))
      this.#dropOldest()
    this.#slots[this.#next++ % this.#options.maxRequests] = { kept, bytes }
    this.#bytes += bytes
  }

  /** Oldest first. */
  all(): readonly KeptRequest[] {
    const { maxRequests } = this.#options
    return Array.from({ length: this.size }, (_, i) => this.#slots[(this.#oldest + i) % maxRequests]!.kept)
  }

  #dropOldest(): void {
    const at = this.#oldest++ % this.#options.maxRequests
    this.#bytes -= this.#slots[at]!.bytes
    this.#slots[at] = undefined
  }

  /** The same list for all requests under one policy. */
  #fields(): readonly ReadField[] {
    const policy = this.#policyOf()
    if (this.#known?.policy !== policy) this.#known = { policy, fields: readsOf(policy).slice(0, maxFields) }
    return this.#known.fields
  }

  #request({ request, cost }: AskedRequest, fields: readonly ReadField[]): AskedRequest {
    return { request: keptView(request, fields, this.#hide), cost }
  }

  #key(asked: AskedKey): AskedKey {
    const selectors = this.#options.keySelectors(asked.rule)
    const keptPart = (part: ReadKeyPart, i: number): ReadKeyPart =>
      typeof part === 'string' ? keptText(part, isSecretSelector(selectors[i] ?? ''), this.#hide) : part
    const { key } = asked
    return { ...asked, key: typeof key === 'string' ? (keptPart(key, 0) as string) : key.map(keptPart) }
  }
}

/** Every field of a request that some rule looks at, once. */
function readsOf({ rules }: CompiledPolicy): readonly ReadField[] {
  const fields = rules.flatMap(({ reads }) => reads)
  return [...new Map(fields.map(({ root, path }) => [JSON.stringify([root, path]), { root, path }])).values()]
}

/** A ring for requests under a policy; the document in force says which parts of keys are secret. */
export function openRing(policy: LivePolicy, hide: Hide): RequestRing {
  let known: { readonly document: unknown; readonly byRule: ReadonlyMap<string, readonly string[]> } | undefined
  const keySelectors = (rule: string | undefined): readonly string[] => {
    const document = policy.document?.given
    if (known === undefined || known.document !== document) known = { document, byRule: selectorsByRule(document) }
    // Without a name, the policy has only one rule that could be meant.
    return rule === undefined ? ([...known.byRule.values()][0] ?? []) : (known.byRule.get(rule) ?? [])
  }
  return new RequestRing(() => policy.current, hide, { keySelectors })
}

function selectorsByRule(document: unknown): ReadonlyMap<string, readonly string[]> {
  const rules = (documentOf(document) as { readonly rules?: unknown } | undefined)?.rules
  const listed = Array.isArray(rules) ? (rules as { readonly name?: unknown; readonly key?: unknown }[]) : []
  return new Map(listed.map(({ name, key }) => [String(name), keySelectorsOf(key)]))
}
