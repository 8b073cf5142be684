import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import { openApi } from '../http/openapi/document.ts'

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> }
}

const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'date-time': true } })
ajv.addSchema({ ...openApi, $id: 'api' })
export const paths = openApi.paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>
/** What was held to the description: method, route and status. */
export const seen = new Set<string>()

function resolved(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components'))
}

/**
 * Holds an exchange to the OpenAPI document: the route, its parameters, the status, the media type and the body must be
 * described.
 */
export function hold(
  method: string,
  path: string,
  requestBody: unknown,
  answer: { status: number; headers: Headers; body: unknown },
): void {
  const pathname = path.split('?')[0]!
  const route = Object.keys(paths).find((known) =>
    new RegExp(`^${known.replace(/\{key\}/, '.+').replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
  )
  const operation = paths[route ?? '']?.[method.toLowerCase()]
  expect(operation, `${method} ${pathname} is described`).toBeDefined()
  const described = operation!.responses[answer.status]
  expect(described, `${method} ${pathname} may answer ${answer.status}`).toBeDefined()
  seen.add(`${method} ${route} ${answer.status}`)
  if (answer.status < 300)
    for (const name of new URLSearchParams(path.split('?')[1]).keys())
      expect(operation!.parameters, `${method} ${pathname} takes ${name}`).toContainEqual(
        expect.objectContaining({ in: 'query', name }),
      )
  if (requestBody !== undefined && typeof requestBody !== 'string' && answer.status < 300)
    valid(operation!.requestBody!.content['application/json']!.schema, requestBody)
  if (described!.content === undefined) return
  const type = answer.headers.get('content-type')!.split(';')[0]!
  expect(Object.keys(described!.content)).toContain(type)
  valid(described!.content[type]!.schema, answer.body)
}

function valid(schema: object, value: unknown): void {
  const validate = ajv.compile(resolved(schema))
  expect(validate(value) ? [] : validate.errors, JSON.stringify(value)).toEqual([])
}
