import { estimateTokens } from '../../admission/usage/estimate.ts'
import { leastOutput, RecentOutputs } from '../../admission/usage/recent-outputs.ts'
import { type TokenWeights, weighed } from '../../admission/usage/usage.ts'
import { guessingReader } from '../../admission/usage/usage-reader.ts'
import { checkOptionNames, checkWhole } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import type { RequestView } from '../../policy/request-view.ts'
import type { LimiterGuardOptions } from './guard-options.ts'

/**
 * Charges the tokens of a language model, for a service in front of one: the cost is estimated from the body of the
 * request and corrected by what the answer reports, at once or streamed (OpenAI, Anthropic, Gemini, Bedrock).
 *
 * Without a maximum in the request, output is estimated by what the model answered lately, at least `leastOutput`
 * tokens. An answer without usage keeps the estimate; one that failed costs a token and its request.
 *
 * @example
 * // rules: [{ name: rpm, ... }, { name: tpm, cost: body.max_tokens ?? 1, limits: { rpm: 90000 } }]
 * const tokens = llmCost({ weights: { cached: 0.1 } })
 * app.use(rateLimit(limiter, { ...tokens, headers: 'openai' }))
 */
export function llmCost(
  options: { readonly leastOutput?: number; readonly weights?: TokenWeights } = {},
): Required<Pick<LimiterGuardOptions<unknown>, 'cost' | 'chargeWhen' | 'readUsage'>> {
  checkOptionNames('llmCost', options, ['leastOutput', 'weights'])
  const { leastOutput: least = leastOutput, weights = {} } = options
  checkWhole('leastOutput', least, 0, 'tokens')
  checkOptionNames('weights', weights, ['input', 'output', 'cached'])
  for (const [name, weight] of Object.entries(weights))
    if (!(Number.isFinite(weight) && weight >= 0)) throw invalidOption(`weights.${name}`, weight, 'use a number from 0')
  const { input = 1, output = 1 } = weights
  const outputs = new RecentOutputs(least)
  /** The models of requests whose responses are on their way. */
  const models = new WeakMap<object, string>()
  return {
    cost: (request, view) => {
      const estimate = estimateTokens(view.body, bytesOf(view), view.path, outputs)
      models.set(request as object, estimate.model)
      return Math.ceil(estimate.input * input + estimate.output * output)
    },
    chargeWhen: ({ status, usage, completed }, request) => {
      // Not nothing, which would also give back the request: whoever makes calls fail is limited too.
      if (usage === undefined) return status < 400 || 1
      const tokens = usage['output-tokens']
      if (completed && tokens !== undefined) outputs.record(models.get(request as object) ?? '', tokens)
      return weighed(usage, weights)
    },
    readUsage: guessingReader,
  }
}

function bytesOf({ body, headers }: RequestView): number {
  const length = Number(headers['content-length'])
  return Number.isSafeInteger(length) && length > 0 ? length : (JSON.stringify(body ?? '')?.length ?? 0)
}
