import * as z from 'zod'
import { count, flag, numberOrNull, object, type Shape, text } from './parts.ts'

export const Health = object({ status: z.literal('ok') })
export const DataSource = object({
  source: text.meta({ description: 'service/source' }),
  stale: flag,
  staleSeconds: numberOrNull.meta({ description: 'Null for a source that never reported.' }),
  ageSeconds: numberOrNull,
})
export const Ready = object({
  ready: flag,
  reasons: z.array(text).meta({ description: 'Why it is not ready.' }),
  warnings: z.array(text),
  sources: z
    .array(DataSource)
    .nullable()
    .optional()
    .meta({ description: 'Only with --data-sources. Null while Redis cannot be read.' }),
})
export const TextRange = object({ line: count, column: count, endLine: count, endColumn: count }).meta({
  description: 'A place in a text. Lines and columns begin with 1; the end is exclusive.',
})
export const Problem = z
  .looseObject({
    type: text,
    title: text,
    status: count,
    detail: text.optional(),
    code: text.optional(),
    issues: z
      .array(
        object({ path: text, message: text, value: z.unknown().optional(), range: TextRange.optional() }).meta({
          description: 'One mistake in a policy: what stands there, what would be right, and where in the text it is.',
        }),
      )
      .optional(),
  })
  .meta({ description: 'RFC 9457.' })

export type DataSource = Shape<typeof DataSource>
export type TextRange = Shape<typeof TextRange>
