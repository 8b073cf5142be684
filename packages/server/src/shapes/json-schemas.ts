import * as z from 'zod'
import * as decisions from './decisions.ts'
import * as operating from './operating.ts'
import * as page from './page.ts'
import * as policy from './policy.ts'
import * as stats from './stats.ts'

const exported: Readonly<Record<string, unknown>> = { ...decisions, ...policy, ...stats, ...page, ...operating }
const named = z.registry<{ id: string }>()
for (const [id, shape] of Object.entries(exported)) if (shape instanceof z.ZodType) named.add(shape, { id })

const prefix = '#/components/schemas/'
export const ref = (name: string): { readonly $ref: string } => ({ $ref: `${prefix}${name}` })

/** Every shape as JSON Schema, as OpenAPI 3.1 has it. */
export const schemas: Readonly<Record<string, object>> = Object.fromEntries(
  Object.entries(z.toJSONSchema(named, { uri: (id) => `${prefix}${id}` }).schemas).map(
    ([name, { $schema, $id, ...schema }]) => [name, schema],
  ),
)
