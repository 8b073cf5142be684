import type { RejectedEvent } from 'sluice/shipper'
import { wrongUse } from '../cli-error.ts'
import type { Input } from '../input.ts'

/** Which rejected events `--id` and `--reason` name; all of them without either. */
export function chosen(input: Input): (event: RejectedEvent) => boolean {
  const ids = new Set(input.many('id'))
  const reason = input.text('reason')?.toLowerCase()
  return (event) =>
    (ids.size === 0 || ids.has(event.id)) && (reason === undefined || event.reason.toLowerCase().includes(reason))
}

/** The same for what changes them: all only if that was said. */
export function chosenOrAll(input: Input, action: string): (event: RejectedEvent) => boolean {
  const isNarrow = input.many('id').length > 0 || input.text('reason') !== undefined
  if (isNarrow === input.flag('all'))
    throw wrongUse(`sluice shipper rejected ${action} needs --id ID or --reason TEXT, or --all instead`)
  return chosen(input)
}
