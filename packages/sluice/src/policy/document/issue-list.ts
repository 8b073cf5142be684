import { mostIssues, type PolicyIssue } from './policy-error.ts'

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
