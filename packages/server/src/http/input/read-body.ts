import type { Context } from 'hono'
import { readBounded } from 'sluice/internal'
import type * as z from 'zod'
import type { NodeEnv } from '../access/access.ts'
import { clientGone, HttpProblem } from '../problem.ts'
import { readInput } from './inputs.ts'

/** The largest body of a request, in bytes. */
export const maxBodyBytes: number = 1024 * 1024
/** How deep JSON may nest. */
export const maxDepth = 64

/** Reads a body as text, within bounds. */
export async function readText(c: Context<NodeEnv>, maxBytes: number = maxBodyBytes): Promise<string> {
  const { incoming } = c.env
  // Asking Hono for one header would make an object of all of them.
  const stated = incoming.headers['content-length']
  if (stated !== undefined && Number(stated) > maxBytes) throw tooLarge(maxBytes)
  try {
    return await (stated === undefined ? readChunks(c, maxBytes) : c.req.text())
  } catch (error) {
    // What failed is the client's connection: nobody reads the answer, and it is no fault of the daemon.
    if (!(error instanceof HttpProblem) && incoming.destroyed && !incoming.complete) throw clientGone()
    throw error
  }
}

/** A body that is sent in chunks: its length is not known beforehand. */
async function readChunks(c: Context<NodeEnv>, maxBytes: number): Promise<string> {
  const bytes = await readBounded(c.req.raw.body, maxBytes)
  if (bytes === undefined) throw tooLarge(maxBytes)
  return new TextDecoder().decode(bytes)
}

/** Reads a body as a JSON object, within bounds. */
export async function readJson(c: Context<NodeEnv>): Promise<Record<string, unknown>> {
  const value = parseJson(await readText(c))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new HttpProblem(400, 'The body must be a JSON object.')
  }
  return value as Record<string, unknown>
}

/** Reads a body of a certain shape. */
export async function readBody<Shape extends z.ZodType>(c: Context<NodeEnv>, shape: Shape): Promise<z.infer<Shape>> {
  return readInput(shape, await readJson(c))
}

/** Parses JSON that does not nest too deep. */
export function parseJson(text: string): unknown {
  if (text.length > maxDepth && depthOf(text) > maxDepth)
    throw new HttpProblem(400, `The body nests more than ${maxDepth} levels deep.`)
  try {
    return JSON.parse(text)
  } catch {
    throw new HttpProblem(
      400,
      text.trim() === '' ? 'The body is empty; send a JSON object.' : 'The body is not valid JSON.',
    )
  }
}

/** How deep JSON text nests, without parsing it. */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 34) {
      // A quotation ends at the first mark that is not escaped.
      for (i++; i < text.length && text.charCodeAt(i) !== 34; i++) if (text.charCodeAt(i) === 92) i++
    } else if (unit === 123 || unit === 91) {
      if (++depth > deepest) deepest = depth
      if (deepest > maxDepth) return deepest
    } else if (unit === 125 || unit === 93) depth--
  }
  return deepest
}

/** The rest of the body is not read, so that the connection cannot be used again. */
export function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem(413, `The body is larger than ${maxBytes} bytes.`, { close: true })
}
