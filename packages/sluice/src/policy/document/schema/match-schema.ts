import * as z from 'zod'
import type { MatchSpec } from '../document.ts'
import { strictObject } from './strict-object.ts'

/** One part of a key or one value. */
export const part: z.ZodUnion<[z.ZodString, z.ZodNumber, z.ZodBoolean]> = z.union([z.string(), z.number(), z.boolean()])
const texts = z.union([z.string(), z.array(z.string()).min(1)])
const values = z.union([part, z.array(part).min(1)])

const operators = {
  exists: z.boolean().optional().describe('Whether the field is there.'),
  is: values.optional().describe('A value or a list of values.'),
  prefix: texts.optional().describe('How it begins: a text or a list of them.'),
  like: texts.optional().describe('A text with * for any characters, such as /files/*.pdf, or a list of them.'),
  in: texts.optional().describe('A list of the policy, or several, by name.'),
  ignoreCase: z.boolean().optional().describe('For is, prefix, like and in: capitals do not matter; false by default.'),
  above: z.number().optional().describe('A number; the field must be more.'),
  atLeast: z.number().optional().describe('A number; the field must be that or more.'),
  below: z.number().optional().describe('A number; the field must be less.'),
  atMost: z.number().optional().describe('A number; the field must be that or less.'),
}
const inverse = z
  .union([part, z.array(part).min(1), strictObject(operators, 'All of it together must not hold.')])
  .optional()
  .describe('What the field must not be.')
const condition = z
  .union([part, z.array(part).min(1), strictObject({ ...operators, not: inverse }, 'All that is said must hold.')])
  .meta({
    id: 'condition',
    description:
      'A value, a list of values, or operators such as { not: ... }, { prefix: ... }, { above: 10 }, { in: list }.',
  })
const conditions = z.record(z.string().min(1).max(200), condition).optional()

const window = {
  hours: texts.optional().describe('09:00-17:00, or a list; 22:00-06:00 passes midnight.'),
  days: texts.optional().describe('mon-fri, or a list of days.'),
  zone: z.string().optional().describe('An IANA zone such as Europe/Berlin; UTC unless said otherwise.'),
}

/** The shape of `match`. */
export const matchSchema: z.ZodType<MatchSpec> = strictObject(
  {
    method: texts.optional().describe('A method or a list of them. GET includes HEAD.'),
    path: texts.optional().describe('A pattern such as /v1/users/:id or /v1/*, or a list of them.'),
    headers: conditions.describe('Headers by name.'),
    query: conditions.describe('Parameters of the query by name.'),
    body: conditions.describe('Fields of the body by path, such as items[0].id.'),
    cookies: conditions.describe('Cookies by name.'),
    context: conditions.describe('What the service itself says of a request, such as user.plan.'),
    host: condition.optional().describe('The host that the request is for, without its port.'),
    ip: condition.optional().describe('Addresses and networks such as 10.0.0.0/8, or { in: list }.'),
    time: z
      .union([
        strictObject(window, 'Hours and days on the wall clock of a zone.'),
        strictObject({ not: strictObject(window, 'At any other time.') }, 'At any other time.'),
      ])
      .optional()
      .describe('When the rule applies: hours and days in a zone.'),
  },
  'Which requests the rule applies to; all that is said must hold.',
)
