import type { OutgoingRequest } from '../options.ts'

type Body = Readonly<Record<string, unknown>>

/** About how many bytes of English text or JSON make one token. */
const bytesPerToken = 4
const capFields = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const

/**
 * Estimates the tokens of a request to a language model: its text, and the largest output that it allows. Of several
 * caps the largest counts, as vendors differ in which one they read.
 */
export function estimateTokens(request: OutgoingRequest): Readonly<Record<string, number>> | undefined {
  if (request.body === undefined) return undefined
  let body: Body
  try {
    const parsed: unknown = JSON.parse(
      typeof request.body === 'string' ? request.body : Buffer.from(request.body).toString(),
    )
    body = typeof parsed === 'object' && parsed !== null ? (parsed as Body) : {}
  } catch {
    return undefined
  }
  const input = Math.ceil(Buffer.byteLength(request.body) / bytesPerToken)
  const caps = capFields.map((field) => body[field]).filter((cap) => typeof cap === 'number' && cap > 0) as number[]
  const copies = typeof body.n === 'number' && body.n >= 1 ? Math.min(body.n, 128) : 1
  const output = Math.ceil((caps.length === 0 ? 0 : Math.max(...caps)) * copies)
  return { tokens: input + output, 'input-tokens': input, 'output-tokens': output }
}
