import { unreadableBody } from '../../policy/request-view.ts'
import { readBounded } from '../../runtime/bounded-body.ts'
import { valuesByName } from '../request/request-target.ts'

/** The longest body that is read for rules to look into. */
export const maxBodyBytes: number = 1024 * 1024

/** What to do about bodies that could not be read. */
export const bodyHint = 'only JSON and forms up to 1 MiB are read; such requests share a bucket'

const form = /^\s*(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/i

/**
 * Reads the body of a request for rules to look into, and leaves it to be read again. Handlers parse JSON whatever the
 * content type says, and so does this. A body that is too long, that is neither JSON nor a form, or that is both, is
 * `unreadableBody`.
 */
export async function readBody(request: Request): Promise<unknown> {
  if (request.body === null) return undefined
  try {
    const bytes = await readBounded(request.clone().body, maxBodyBytes)
    return bytes === undefined ? unreadableBody : await parseBody(bytes, request.headers.get('content-type') ?? '')
  } catch {
    return unreadableBody
  }
}

/** Whether a body says that it is JSON of a length that may be read as a whole. */
export function isShortJson(headers: Headers): boolean {
  const length = Number(headers.get('content-length') ?? Number.NaN)
  return length <= maxBodyBytes && /^\s*application\/(?:[\w.+-]+\+)?json\b/i.test(headers.get('content-type') ?? '')
}

/** The value of a JSON text. An empty text is no body. */
export function parseJson(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return unreadableBody
  }
}

async function parseBody(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<unknown> {
  const value = parseJson(new TextDecoder().decode(bytes))
  if (!form.test(type)) return value
  // A handler that parses JSON sees other fields than one that reads the form.
  if (typeof value === 'object' && value !== null) return unreadableBody
  const fields = await new Response(bytes, { headers: { 'content-type': type } }).formData()
  return valuesByName([...fields].filter((field): field is [string, string] => typeof field[1] === 'string'))
}
