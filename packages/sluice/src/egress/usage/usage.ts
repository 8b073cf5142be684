/** Tokens that a response reports, by unit. */
export type Usage = Readonly<Record<string, number>>

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.ceil(value) : undefined

/**
 * The usage in a JSON value of the OpenAI or Anthropic style, also in one event of a stream:
 *
 *     { usage: { prompt_tokens, completion_tokens, total_tokens } }       OpenAI, chat and embeddings
 *     { usage: { input_tokens, output_tokens, total_tokens? } }           OpenAI responses, Anthropic
 *     { type: 'message_start', message: { usage: { input_tokens } } }     Anthropic, streamed
 *     { response: { usage } }                                            OpenAI responses, streamed
 */
export function usageIn(value: unknown): Usage | undefined {
  const fields = fieldsOf(value)
  const holder = [fields, fieldsOf(fields.message), fieldsOf(fields.response)].find(
    ({ usage }) => fieldsOf(usage) === usage,
  )
  const usage = fieldsOf(holder?.usage)
  const input = numberOf(usage.input_tokens) ?? numberOf(usage.prompt_tokens)
  const output = numberOf(usage.output_tokens) ?? numberOf(usage.completion_tokens)
  const total = numberOf(usage.total_tokens)
  if (input === undefined && output === undefined && total === undefined) return undefined
  return {
    ...(input === undefined ? {} : { 'input-tokens': input }),
    ...(output === undefined ? {} : { 'output-tokens': output }),
    ...(total === undefined ? {} : { total }),
  }
}

/** Several reports of one response: each number is a running total, so the latest counts. */
export function mergeUsage(before: Usage | undefined, later: Usage | undefined): Usage | undefined {
  return later === undefined ? before : { ...before, ...later }
}

/** The usage with `tokens`, the sum, beside its parts. */
export function withTotal(usage: Usage | undefined): Usage | undefined {
  if (usage === undefined) return undefined
  const { total, ...parts } = usage
  const tokens = total ?? (parts['input-tokens'] ?? 0) + (parts['output-tokens'] ?? 0)
  return { ...parts, tokens }
}
