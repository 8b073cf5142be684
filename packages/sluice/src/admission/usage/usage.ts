/** Tokens that a response reports, by unit. */
export type Usage = Readonly<Record<string, number>>

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.ceil(value) : undefined
const firstOf = (fields: Fields, names: readonly string[]): number | undefined =>
  names.map((name) => numberOf(fields[name])).find((number) => number !== undefined)

/** Which lines of a stream may have usage. */
export const mayHaveUsage: RegExp = /"usage(?:Metadata)?"|invocationMetrics"/

const names = {
  input: ['input_tokens', 'prompt_tokens', 'inputTokens', 'promptTokenCount', 'inputTokenCount'],
  output: ['output_tokens', 'completion_tokens', 'outputTokens', 'candidatesTokenCount', 'outputTokenCount'],
  total: ['total_tokens', 'totalTokens', 'totalTokenCount'],
  /** Read from a cache, and not in the input. */
  besideRead: ['cache_read_input_tokens', 'cacheReadInputTokens'],
  /** Written to a cache, and not in the input. */
  besideWritten: ['cache_creation_input_tokens', 'cacheWriteInputTokens'],
} as const

/**
 * The usage in a JSON value of a language model, also in one event of a stream:
 *
 *     { usage: { prompt_tokens, completion_tokens, total_tokens } }          OpenAI, chat and embeddings
 *     { usage: { input_tokens, output_tokens, total_tokens? } }              OpenAI responses, Anthropic
 *     { type: 'message_start', message: { usage: { input_tokens } } }        Anthropic, streamed
 *     { response: { usage } }                                               OpenAI responses, streamed
 *     { usageMetadata: { promptTokenCount, candidatesTokenCount, ... } }     Gemini
 *     { usage: { inputTokens, outputTokens, ... } }                          Bedrock, Converse
 *     { 'amazon-bedrock-invocationMetrics': { inputTokenCount, ... } }       Bedrock, the last event of a stream
 *
 * The input of OpenAI and Gemini has the tokens that were read from a cache, that of Anthropic and Bedrock does not.
 * `input-tokens` is what all of them count by their limits: with what was read from a cache for the former, without it
 * for the latter, and with what was written to one. `cached-tokens` is what was read from a cache.
 */
export function usageIn(value: unknown): Usage | undefined {
  const fields = fieldsOf(value)
  const usage = [fields, fieldsOf(fields.message), fieldsOf(fields.response), fieldsOf(fields.metadata)]
    .flatMap((each) => [each.usage, each.usageMetadata, each['amazon-bedrock-invocationMetrics']])
    .map(fieldsOf)
    .find((each) => Object.keys(each).length > 0)
  if (usage === undefined) return undefined
  const written = firstOf(usage, names.besideWritten)
  const input = firstOf(usage, names.input)
  const thought = numberOf(usage.thoughtsTokenCount) ?? 0
  const output = firstOf(usage, names.output)
  const total = firstOf(usage, names.total)
  const within = fieldsOf(usage.prompt_tokens_details ?? usage.input_tokens_details).cached_tokens
  const cached = firstOf(usage, names.besideRead) ?? numberOf(within) ?? numberOf(usage.cachedContentTokenCount)
  if (input === undefined && output === undefined && total === undefined) return undefined
  return {
    ...(input === undefined ? {} : { 'input-tokens': input + (written ?? 0) }),
    ...(output === undefined ? {} : { 'output-tokens': output + thought }),
    ...(cached === undefined ? {} : { 'cached-tokens': cached }),
    // Whether the input has what is cached, which a price needs to know.
    ...(cached !== undefined && firstOf(usage, names.besideRead) === undefined ? { 'cached-within': cached } : {}),
    // Bedrock's total has what was read from a cache, which its limits do not count.
    ...(total === undefined || firstOf(usage, names.besideRead) !== undefined ? {} : { total }),
  }
}

/** Several reports of one response: each number is a running total, so the latest counts. */
export function mergeUsage(before: Usage | undefined, later: Usage | undefined): Usage | undefined {
  return later === undefined ? before : { ...before, ...later }
}

/** The usage with `tokens`, the sum, beside its parts. */
export function withTotal(usage: Usage | undefined): Usage | undefined {
  if (usage === undefined) return undefined
  const { total, 'cached-within': _, ...parts } = usage
  const tokens = total ?? (parts['input-tokens'] ?? 0) + (parts['output-tokens'] ?? 0)
  return { ...parts, tokens }
}

/** How much one token of a kind counts. */
export interface TokenWeights {
  readonly input?: number
  readonly output?: number
  /** One that was read from a cache of prompts. */
  readonly cached?: number
}

/** The tokens of a response by their weights; those of a cache count once, whoever reports them. */
export function weighed(usage: Usage, { input = 1, output = 1, cached = 1 }: TokenWeights): number {
  const within = usage['cached-within'] ?? 0
  const fresh = Math.max(0, (usage['input-tokens'] ?? 0) - within)
  const isTotalOnly = usage['input-tokens'] === undefined && usage['output-tokens'] === undefined
  if (isTotalOnly) return Math.ceil((usage.total ?? 0) * Math.max(input, output))
  return Math.ceil(fresh * input + (usage['cached-tokens'] ?? 0) * cached + (usage['output-tokens'] ?? 0) * output)
}
