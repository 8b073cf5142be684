import type { LimitStatus } from '../../core/engine/ask.ts'

/** What never changes about a row of limits. */
export interface PolicyRow {
  /** The `RateLimit-Policy` of the row. */
  readonly text: string
  /** The names of the limits, as they are written. */
  readonly labels: readonly string[]
}

interface Branch extends PolicyRow {
  readonly status: LimitStatus
  readonly next: Map<number, Branch[]>
  /** Where the last row went on; most rows go the same way. */
  likely: Branch | undefined
}

/** How a version of the headers writes a limit. */
export interface LimitText {
  readonly label: (status: LimitStatus) => string
  readonly item: (status: LimitStatus, label: string) => string
}

/** Subjects with separate limits make many rows; beyond this many the cache is cleared. */
const maxBranches = 10_000

/**
 * Remembers `RateLimit-Policy` for every row of limits that was met, as a tree with one limit per step:
 *
 *     root -- rps 20 -- rpm 1000 -- rpd 100000     "rps";q=20;w=1, "rpm";q=1000;w=60, "rpd";q=100000;w=86400
 *                  \-- rpm 500                     "rps";q=20;w=1, "rpm";q=500;w=60
 *
 * A request finds its field without building it, and without a key made of text.
 */
export class PolicyText {
  readonly #write: LimitText
  #root: Branch = emptyRoot()
  #version: string | undefined
  #branches = 0

  constructor(write: LimitText) {
    this.#write = write
  }

  /** The row that these limits make. Names may change with the policy, so each version has a tree of its own. */
  row(limits: readonly LimitStatus[], policyVersion: string): PolicyRow {
    if (policyVersion !== this.#version || this.#branches > maxBranches) {
      this.#root = emptyRoot()
      this.#version = policyVersion
      this.#branches = 0
    }
    let branch = this.#root
    for (let i = 0; i < limits.length; i++) {
      const status = limits[i]!
      if (branch.likely === undefined || !isSame(branch.likely.status, status)) {
        branch.likely = this.#find(branch, status)
      }
      branch = branch.likely
    }
    return branch
  }

  #find(from: Branch, status: LimitStatus): Branch {
    const branches = from.next.get(status.amount)
    const known = branches?.find((branch) => isSame(branch.status, status))
    if (known !== undefined) return known
    const label = this.#write.label(status)
    const item = this.#write.item(status, label)
    const branch: Branch = {
      text: from.labels.length === 0 ? item : `${from.text}, ${item}`,
      labels: [...from.labels, label],
      status,
      next: new Map(),
      likely: undefined,
    }
    if (branches === undefined) from.next.set(status.amount, [branch])
    else branches.push(branch)
    this.#branches++
    return branch
  }
}

const emptyRoot = (): Branch => ({
  text: '',
  labels: [],
  status: undefined as never,
  next: new Map(),
  likely: undefined,
})

const isSame = (a: LimitStatus, b: LimitStatus): boolean =>
  a.name === b.name && a.rule === b.rule && a.amount === b.amount && a.windowMs === b.windowMs
