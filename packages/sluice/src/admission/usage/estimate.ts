import type { RecentOutputs } from './recent-outputs.ts'

type Fields = Readonly<Record<string, unknown>>

/** About how many bytes of English text or JSON make one token. */
const bytesPerToken = 4

/** Where vendors have the largest output that a request allows. */
const caps: readonly (readonly string[])[] = [
  ['max_tokens'],
  ['max_completion_tokens'],
  ['max_output_tokens'],
  ['max_gen_len'],
  ['generationConfig', 'maxOutputTokens'],
  ['inferenceConfig', 'maxTokens'],
  ['textGenerationConfig', 'maxTokenCount'],
]

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})

export interface TokenEstimate {
  readonly input: number
  readonly output: number
  /** The name of the model, as far as it is known. */
  readonly model: string
}

/**
 * Estimates the tokens of a request to a language model: its text, and the largest output that it allows. Of several
 * caps the largest counts, as vendors differ in which one they read; without any, what the model answered lately.
 */
export function estimateTokens(body: unknown, bytes: number, path: string, outputs: RecentOutputs): TokenEstimate {
  const fields = fieldsOf(body)
  const given = caps
    .map((steps) => steps.reduce<unknown>((value, step) => fieldsOf(value)[step], fields))
    .filter((cap): cap is number => typeof cap === 'number' && cap > 0)
  const model = modelOf(fields, path)
  const wanted = fields.n ?? fieldsOf(fields.generationConfig).candidateCount
  const copies = typeof wanted === 'number' && wanted >= 1 ? Math.min(wanted, 128) : 1
  const each = given.length === 0 ? outputs.expected(model) : Math.max(...given)
  return { input: Math.ceil(bytes / bytesPerToken), output: Math.ceil(each * copies), model }
}

/** In the body, or in the path: `/v1beta/models/NAME:generateContent` of Gemini, `/model/NAME/converse` of Bedrock. */
function modelOf({ model }: Fields, path: string): string {
  if (typeof model === 'string') return model.slice(0, 200)
  return (/\/models?\/([^/:?]+)/.exec(path)?.[1] ?? '').slice(0, 200)
}
