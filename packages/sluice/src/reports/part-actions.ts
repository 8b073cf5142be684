import { isSluiceError, SluiceError } from '../core/errors.ts'
import { type ActionResult, maxActions, type PartAction, type ReportPart } from '../core/observe/report.ts'

/** An action as it arrives. */
export interface Ordered {
  readonly id: string
  /** A `PartAction` as JSON. */
  readonly text: string
}

/** Does what operators order from the parts of this process, and remembers what became of it. */
export class PartActions {
  #results: readonly ActionResult[] = []
  /** Those that have not ended. */
  readonly #running = new Set<string>()

  /** The last ones, the oldest first. */
  get results(): readonly ActionResult[] {
    return this.#results
  }

  /** Begins each of them; never throws. The same action of the same part runs once at a time. */
  begin(ordered: readonly Ordered[], parts: readonly ReportPart[]): void {
    for (const each of ordered) void this.#run(each, parts)
  }

  async #run({ id, text }: Ordered, parts: readonly ReportPart[]): Promise<void> {
    if (this.#running.has(text)) {
      this.#note({ id, state: 'failed', text: 'SLUICE_OVERLOADED' })
      return
    }
    this.#running.add(text)
    this.#note({ id, state: 'running', text: '' })
    try {
      const said = await act(JSON.parse(text) as PartAction, parts)
      this.#note({ id, state: 'done', text: typeof said === 'string' ? said.slice(0, 200) : '' })
    } catch (error) {
      // The message may have what operators should not see, such as an address with a password.
      this.#note({ id, state: 'failed', text: isSluiceError(error) ? error.code : 'failed' })
    } finally {
      this.#running.delete(text)
    }
  }

  #note(result: ActionResult): void {
    this.#results = [...this.#results.filter(({ id }) => id !== result.id), result].slice(-maxActions)
  }
}

function act({ kind, name, item, action }: PartAction, parts: readonly ReportPart[]): unknown {
  const actions = partOf({ kind, name }, parts)?.actions ?? {}
  const found = Object.hasOwn(actions, action) ? actions[action] : undefined
  if (found === undefined) throw new SluiceError('SLUICE_WRONG_USE', `No ${kind} ${name} here can ${action}.`)
  return found(item)
}

/** The part of this kind and name; undefined if there are several. */
export function partOf(of: Pick<PartAction, 'kind' | 'name'>, parts: readonly ReportPart[]): ReportPart | undefined {
  const found = parts.filter(({ kind, name }) => kind === of.kind && name === of.name)
  return found.length === 1 ? found[0] : undefined
}
