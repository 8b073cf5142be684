import { createInterface } from 'node:readline'
import { createAppender } from 'sluice/shipper'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { count } from '../../terminal/numbers.ts'
import { safe } from '../../terminal/text.ts'

/** As many events share commits; more would only wait in memory. */
const inFlight = 1000

interface Refused {
  readonly line: number
  readonly reason: string
}

/** Stores events from standard input. */
export async function shipperAppend(input: Input, terminal: Terminal): Promise<ExitCode> {
  const dir = input.text('dir') ?? 'buffer'
  const appender = await createAppender({ dir })
  const refused: Refused[] = []
  let [stored, number] = [0, 0]
  const pending = new Set<Promise<void>>()
  for await (const text of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    const line = ++number
    if (text.trim() === '') continue
    const one = Promise.resolve()
      .then(() => appender.append(JSON.parse(text)))
      .then(
        () => {
          stored++
        },
        (error: Error) => void refused.push({ line, reason: error.message }),
      )
      .finally(() => pending.delete(one))
    pending.add(one)
    if (pending.size >= inFlight) await Promise.all(pending)
  }
  await Promise.all(pending)
  await appender.close()
  terminal.result({ dir, stored, refused }, () => {
    terminal.line(`${terminal.style.good(`${count(stored)} stored`)} in ${dir}`)
  })
  if (!terminal.json)
    for (const { line, reason } of refused) terminal.note(`line ${line} was not stored: ${safe(reason)}`)
  return refused.length > 0 ? 1 : 0
}
