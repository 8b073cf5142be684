import { SluiceError, show } from '../../core/errors.ts'

/** One mistake in a policy: where it is, what stands there, and what would be right. */
export interface PolicyIssue {
  /** Such as `rules[0].limits.rpm`; empty for the document as a whole. */
  readonly path: string
  readonly value: unknown
  readonly message: string
}

/** Notes a mistake and lets the reading go on, so that all of them are listed at once. */
export type Report = (path: string, value: unknown, message: string) => void

const mostPrinted = 20
/** Most mistakes that are listed: nobody reads more, and finding their places takes time. */
export const mostIssues = 200

/** A policy that does not parse or does not make sense, refused whole. `issues` lists its mistakes, at most 200. */
export class PolicyError extends SluiceError {
  override readonly name = 'PolicyError'
  readonly issues: readonly PolicyIssue[]

  constructor(issues: readonly PolicyIssue[], options: { cause?: unknown } = {}) {
    super('SLUICE_INVALID_POLICY', describeIssues('policy', issues), options)
    this.issues = issues.slice(0, mostIssues)
  }
}

/** All mistakes in a document of this kind, one line for each. */
export function describeIssues(kind: string, issues: readonly PolicyIssue[]): string {
  const lines = issues.slice(0, mostPrinted).map(describeIssue)
  if (issues.length > mostPrinted) lines.push(more(issues.length))
  return issues.length === 1 ? `${kind} refused: ${lines[0]}` : `${kind} refused:\n- ${lines.join('\n- ')}`
}

function more(count: number): string {
  return count < mostIssues ? `and ${count - mostPrinted} more` : `and at least ${mostIssues - mostPrinted} more`
}

/** One mistake as one line, such as `rules[0].limits.rpm is -1; use a whole number from 0 to 10^13`. */
function describeIssue({ path, value, message }: PolicyIssue): string {
  // Names of fields are in it, and may have line breaks.
  return `${path === '' ? 'the document' : path.replaceAll('\n', '\\n')} is ${show(value)}; ${message}`
}

/**
 * Gathers issues: one per path, none for the parents of a path that has one, and no more than are listed.
 */
export class IssueList {
  readonly all: PolicyIssue[] = []
  readonly #announce = new Set<string>()

  add(path: string, value: unknown, message: string): void {
    if (this.all.length === mostIssues || this.#announce.has(path)) return
    this.all.push({ path, value, message })
    this.#announce.add(path)
    for (const { index } of path.matchAll(/[.[]/g)) this.#announce.add(path.slice(0, index))
  }
}
