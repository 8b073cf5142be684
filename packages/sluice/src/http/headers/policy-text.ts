import type { LimitStatus } from '../../core/ask.ts'

/** What never changes about a row of limits: its `RateLimit-Policy`, and how its last limit begins. */
export interface PolicyNode {
  /** The field for all limits up to this one. */
  readonly text: string
  /** What comes before the remaining units of this limit in a field that lists them all. */
  readonly lead: string
}

interface Branch extends PolicyNode {
  readonly status: LimitStatus
  readonly next: Map<number, Branch[]>
}

/** How a version of the headers writes a limit. */
export interface LimitText {
  readonly label: (status: LimitStatus) => string
  readonly item: (status: LimitStatus, label: string) => string
}

/** Subjects with limits of their own make many rows; beyond this many the memory starts anew. */
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

  /** Where a row of limits starts. Names may change with the policy, so each version has a tree of its own. */
  root(policyVersion: string): PolicyNode {
    if (policyVersion !== this.#version || this.#branches > maxBranches) {
      this.#root = emptyRoot()
      this.#version = policyVersion
      this.#branches = 0
    }
    return this.#root
  }

  /** One limit further along the row. */
  next(from: PolicyNode, status: LimitStatus): PolicyNode {
    const branches = (from as Branch).next.get(status.amount)
    if (branches !== undefined) {
      for (const branch of branches) if (isSame(branch.status, status)) return branch
    }
    return this.#grow(from as Branch, status, branches)
  }

  #grow(from: Branch, status: LimitStatus, branches: Branch[] | undefined): Branch {
    const label = this.#write.label(status)
    const item = this.#write.item(status, label)
    const isFirst = from.text === ''
    const branch = {
      text: isFirst ? item : `${from.text}, ${item}`,
      lead: `${isFirst ? '' : ', '}${label};r=`,
      status,
      next: new Map(),
    }
    if (branches === undefined) from.next.set(status.amount, [branch])
    else branches.push(branch)
    this.#branches++
    return branch
  }
}

const emptyRoot = (): Branch => ({ text: '', lead: '', status: undefined as never, next: new Map() })

const isSame = (a: LimitStatus, b: LimitStatus): boolean =>
  a.name === b.name && a.rule === b.rule && a.amount === b.amount && a.windowMs === b.windowMs
