/**
 * A small model of how Envoy's own `ratelimit` service decides, for tests. It follows that service's documentation and
 * shares nothing with the import.
 */
export interface ModelNode {
  readonly key: string
  readonly value?: string | undefined
  readonly rate_limit?: {
    readonly unit?: string
    readonly requests_per_unit?: number
    readonly unlimited?: boolean
    readonly name?: string
    readonly replaces?: readonly { readonly name: string }[]
  }
  readonly shadow_mode?: boolean
  readonly quota_mode?: boolean
  readonly share_threshold?: boolean
  readonly metadata?: object
  readonly detailed_metric?: boolean
  readonly descriptors?: readonly ModelNode[]
}

export type ModelEntries = readonly (readonly [key: string, value: string])[]

/** What one descriptor is answered, in the order: code, limit, unit, name, what is left. */
export type ModelStatus = readonly [code: string, ...(string | number | undefined)[]]

interface Found {
  readonly node: ModelNode
  readonly counter: string
}

/** The service with one domain; all its requests come within one window of every unit. */
export class EnvoyModel {
  readonly #nodes: readonly ModelNode[]
  readonly #counters = new Map<string, number>()

  constructor(nodes: readonly ModelNode[]) {
    this.#nodes = nodes
  }

  ask(descriptors: readonly ModelEntries[], hits: number): { over: boolean; statuses: readonly ModelStatus[] } {
    const found = descriptors.map((entries) => this.#find(entries))
    const gone = new Set(found.flatMap((each) => each?.node.rate_limit?.replaces?.map(({ name }) => name) ?? []))
    let deniedOutright = false
    const quotas: boolean[] = []
    const statuses = found.map((each): ModelStatus => {
      const limit = each?.node.rate_limit
      if (each === undefined || limit === undefined) return ['OK']
      if (limit.unlimited) return ['OK', undefined, undefined, undefined, 2 ** 32 - 1]
      if (limit.name !== undefined && gone.has(limit.name)) return ['OK']
      const used = (this.#counters.get(each.counter) ?? 0) + hits
      this.#counters.set(each.counter, used)
      const amount = limit.requests_per_unit!
      const isOver = used > amount && !each.node.shadow_mode
      if (each.node.quota_mode) quotas.push(isOver)
      else if (isOver) deniedOutright = true
      const figures = [amount, limit.unit!.toUpperCase(), limit.name ?? '', Math.max(0, amount - used)] as const
      return [isOver ? 'OVER_LIMIT' : 'OK', ...figures]
    })
    return { over: deniedOutright || (quotas.length > 0 && quotas.every(Boolean)), statuses }
  }

  /** Down the tree, one level for each entry: the value, else the first pattern that fits, else any value. */
  #find(entries: ModelEntries): Found | undefined {
    let level = this.#nodes
    let node: ModelNode | undefined
    const counter: string[] = []
    for (const [key, value] of entries) {
      const same = level.filter((each) => each.key === key)
      node =
        same.find((each) => each.value === value && value !== '') ??
        same.find((each) => each.value?.includes('*') && fits(each.value, value)) ??
        same.find((each) => each.value === undefined)
      if (node === undefined) return undefined
      counter.push(key, node.share_threshold ? node.value! : value)
      level = node.descriptors ?? []
    }
    return node && { node, counter: JSON.stringify([counter, node.rate_limit?.unit]) }
  }
}

function fits(pattern: string, value: string): boolean {
  const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${pattern.split('*').map(literal).join('[^]*')}$`).test(value)
}
