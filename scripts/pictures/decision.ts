import { arrow, type BoxContent, box, picture, text } from './svg.ts'

/** The layers of a decision, in the order of docs/design.md, and where one of them may answer already. */
const layers: readonly (BoxContent & { readonly answers?: readonly string[] })[] = [
  { title: 'Request or key', lines: ['who asks, for what, at which cost'] },
  { title: 'Policy', lines: ['rules that match, key, limits, tier'] },
  { title: 'Deny-cache', lines: ['refused a moment ago?'], answers: ['denied,', 'without I/O'] },
  { title: 'Leases', lines: ['units drawn ahead of use?'], answers: ['allowed,', 'without I/O'] },
  { title: 'Fallback', lines: ['deadline and breaker of the store'], answers: ['onStoreFailure', 'decides'] },
  { title: 'Store', lines: ['tests all limits, then spends all;', 'Redis: one round trip for a tick'] },
]

const wide = 262
const gap = 20

export function decisionPicture(): string {
  const parts: string[] = []
  let y = 40
  for (const { title, lines, answers } of layers) {
    const height = 30 + 16 * (lines?.length ?? 0)
    parts.push(box(14, y, wide, height, { title, ...(lines && { lines }) }))
    if (answers) {
      parts.push(arrow(14 + wide, y + height / 2, 344, y + height / 2))
      parts.push(...answers.map((each, row) => text(352, y + height / 2 - 3 + row * 16, each, { as: 'small' })))
    }
    parts.push(arrow(14 + wide / 2, y + height, 14 + wide / 2, y + height + gap))
    y += height + gap
  }
  parts.push(
    box(14, y, wide, 62, {
      title: 'Decision',
      lines: ['allowed or denied, state of each limit,', 'retryAfterMs, degraded'],
    }),
    arrow(14 + wide, y + 31, 344, y + 31),
    text(352, y + 20, 'headers or 429,', { as: 'small' }),
    text(352, y + 36, 'events, metrics', { as: 'small' }),
  )
  return picture(y + 76, 'The way of a decision', parts)
}
