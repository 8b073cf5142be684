import { ref } from '../../shapes/json-schemas.ts'

/** A piece of the description. */
export type Part = Readonly<Record<string, unknown>>

/** When an answer has this status. */
const problems = {
  400: 'The input is malformed, or a parameter is unknown.',
  401: 'The token is missing or wrong.',
  403: 'Asked by a page of another site, or with a token that may only look.',
  404: 'There is no such rule, key, override, version or process here.',
  409: 'The operation does not fit the rule or the part, or the policy cannot be written to.',
  412: 'Another version is in force than If-Match names.',
  413: 'The body is too large, or a batch asks for too much.',
  422: 'The policy was refused; issues lists every mistake.',
  428: 'If-Match is missing.',
  429: 'Denied; or there were too many wrong tokens, or too many streams of one session.',
  503: 'The store failed and the operation needs it, or the daemon has too much to do or is ending.',
}
type Status = keyof typeof problems

/** The names of shapes that are sent as JSON, one of them at a time; or content that is described by itself. */
type Content = string | readonly string[] | Part

/** What an operation takes, and why it may be refused beside what is usual for whoever may use it. */
interface More {
  readonly query?: Readonly<Record<string, Part>>
  readonly headers?: Readonly<Record<string, Part>>
  readonly body?: Content
  readonly refuses?: readonly Status[]
  /** The status of its answer; 200 when left out. */
  readonly status?: number
}

type Describe = (operationId: string, summary: string, gives: Content, more?: More) => Part

function describe(security: readonly Part[], ...usual: readonly Status[]): Describe {
  return (operationId, summary, gives, { query = {}, headers = {}, body, refuses = [], status = 200 } = {}) => {
    const statuses = [...usual, ...(body === undefined ? [] : ([400, 413] as const)), ...refuses]
    return {
      ...{ operationId, summary, security },
      parameters: [...parametersIn('query', query), ...parametersIn('header', headers)],
      ...(body !== undefined && { requestBody: { required: true, ...contentOf(body) } }),
      responses: {
        [status]: { description: 'Done.', ...contentOf(gives) },
        ...Object.fromEntries(statuses.map((each) => [each, problem(each)])),
      },
    }
  }
}

/** Of whoever may ask for decisions: there may be a token for it. */
export const decisions: Describe = describe([], 400, 401, 403, 404, 409)
/** Of operators, by a token or as the page. */
export const operators: Describe = describe([{ adminToken: [] }, { session: [] }], 400, 401, 403, 429)
/** Of processes that report; the token for deciding will do. */
export const reporters: Describe = describe([{ adminToken: [] }], 400, 401, 403, 429)
/** Of the page before somebody has signed in. */
export const page: Describe = describe([], 400, 403)
/** Of everybody. */
export const everybody: Describe = describe([])

export const flag = (description: string): Part => ({ description, schema: { type: 'boolean' } })
export const text = (description: string): Part => ({ description, schema: { type: 'string' } })
export const oneOf = (description: string, ...choices: string[]): Part => ({ description, schema: { enum: choices } })
export const whole = (description: string, minimum: number, maximum: number): Part => ({
  description,
  schema: { type: 'integer', minimum, maximum },
})

function parametersIn(place: string, described: Readonly<Record<string, Part>>): Part[] {
  return Object.entries(described).map(([name, part]) => ({ name, in: place, ...part }))
}

function problem(status: Status): Part {
  return { description: problems[status], content: { 'application/problem+json': { schema: ref('Problem') } } }
}

function contentOf(given: Content): Part {
  if (typeof given !== 'string' && !Array.isArray(given)) return given as Part
  const [first, ...others] = [given].flat().map(ref)
  return { content: { 'application/json': { schema: others.length === 0 ? first : { oneOf: [first, ...others] } } } }
}

/** Operations by method and path, as OpenAPI has them. Whatever is in braces is a parameter. */
export function pathsOf(
  operations: Readonly<Record<string, Part>>,
): Readonly<Record<string, Readonly<Record<string, Part>>>> {
  const paths: Record<string, Record<string, Part>> = {}
  for (const [route, operation] of Object.entries(operations)) {
    const [method = '', path = ''] = route.split(' ')
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      ...pathParts(name),
    }))
    const parameters = [...inPath, ...(operation.parameters as Part[])]
    paths[path] = { ...paths[path], [method.toLowerCase()]: { ...operation, parameters } }
  }
  return paths
}

function pathParts(name: string | undefined): Part {
  if (name === 'key') return text('A readable key: service/rule/part/..., each segment percent-encoded.')
  return { schema: { type: name === 'revision' ? 'integer' : 'string' } }
}
