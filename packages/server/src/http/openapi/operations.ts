import { ref } from '../../shapes/json-schemas.ts'

/** A piece of the description. */
export type Part = Readonly<Record<string, unknown>>

const json = (schema: string): Part => ({ 'application/json': { schema: ref(schema) } })
const problem: Part = { 'application/problem+json': { schema: ref('Problem') } }
export const answer = (description: string, schema: string): Part => ({ description, content: json(schema) })
export const wrong = (description: string): Part => ({ description, content: problem })
export const body = (...names: string[]): Part => {
  const schema = names.length === 1 ? ref(names[0]!) : { oneOf: names.map(ref) }
  return { required: true, content: { 'application/json': { schema } } }
}
export const query = (name: string, description: string, schema: Part): Part => ({
  name,
  in: 'query',
  description,
  schema,
})
export const malformed: Part = { 400: wrong('The input is malformed.'), 413: wrong('The body is too large.') }
const refused: Part = {
  401: wrong('The admin token is missing or wrong.'),
  403: wrong('Asked by a page of another site.'),
  429: wrong('Too many wrong tokens, or too many streams of one session.'),
}

/** Operations that need no token. */
export function get(operationId: string, summary: string, responses: Part, more: Part = {}): Part {
  return { operationId, summary, security: [], responses, ...more }
}

/** Operations that only operators may use. */
export function admin(operationId: string, summary: string, responses: Part, more: Part = {}): Part {
  const answers = { 400: wrong('A parameter is unknown or makes no sense.'), ...responses, ...refused }
  return { operationId, summary, security: [{ adminToken: [] }, { session: [] }], responses: answers, ...more }
}
