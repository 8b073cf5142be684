import type { Context } from 'hono'
import type { Decision } from 'sluice'
import { type DecisionAnswer, decisionAnswers } from 'sluice/http'
import { DecisionTurns } from '../../../decision-turns.ts'
import { optionsOf } from '../../../options-of.ts'
import { checkKey } from '../../../policy/overrides/check-key.ts'
import { Check, maxChecks } from '../../../shapes/decisions.ts'
import type { NodeEnv } from '../../access/access.ts'
import type { ApiParts } from '../../api-parts.ts'
import { decisionJson } from '../../decision-json.ts'
import { type CheckInput, checkInput, readInput } from '../../input/inputs.ts'
import { readJson } from '../../input/read-body.ts'
import { readFlag } from '../../input/read-query.ts'
import { HttpProblem, madeInTime } from '../../problem.ts'
import type { Routes } from '../../router.ts'
import { checkBatch } from './check-batch.ts'

const jsonHeaders = { 'content-type': 'application/json' }

/** `POST /v1/check`: decides on one key or request, or on many at once. */
export const checkRoute: Routes = ({ decide }, parts) => {
  const answerTo = decisionAnswers(parts.limiter)
  const turns = new DecisionTurns()
  decide.post('/v1/check', (c) => answer(c, parts, turns, answerTo))
}

async function answer(
  c: Context<NodeEnv>,
  parts: ApiParts,
  turns: DecisionTurns,
  answerTo: (decision: Decision) => DecisionAnswer,
): Promise<Response> {
  const body = await readJson(c)
  if (body.checks !== undefined && c.req.query('mirror') !== undefined)
    throw new HttpProblem(400, 'mirror cannot stand beside checks: one answer cannot have several statuses.')
  if (body.checks !== undefined) {
    const decideOne = (input: CheckInput) => decide(parts, input)
    return inPieces(await checkBatch(checksOf(body), parts.policy, parts.batches, decideOne))
  }
  const check = readInput(Check, body)
  const isMirrored = check.mirror === true || readFlag(c, 'mirror')
  const input = checkInput(check)
  const turn = turns.begin()
  if (turn !== undefined) await turn
  const decision = await decide(parts, input)
  if (isMirrored) return mirrored(decision, answerTo(decision))
  return json(decisionJson(decision))
}

function json(value: unknown): Response {
  return new Response(JSON.stringify(value), { headers: jsonHeaders })
}

/** Each piece is let go of when it is sent. */
function inPieces(pieces: Buffer[]): Response {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const body = new ReadableStream({
    pull(controller) {
      const piece = pieces.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(piece)
    },
  })
  return new Response(body, { headers: { ...jsonHeaders, 'content-length': `${bytes}` } })
}

/** Decides on one key or request, and keeps it to try policies with. */
async function decide(parts: ApiParts, input: CheckInput): Promise<Decision> {
  const atMs = Date.now()
  const decision = madeInTime(await decided(parts, input))
  parts.ring.add(input, decision, atMs)
  return decision
}

function decided({ limiter, policy }: ApiParts, input: CheckInput): Promise<Decision> {
  if ('request' in input) return limiter.check(input.request, optionsOf(input))
  checkKey(policy.current, input.key, input.rule)
  return limiter.take(input.key, optionsOf(input))
}

function checksOf(body: Record<string, unknown>): readonly unknown[] {
  const { checks } = body
  if (!Array.isArray(checks) || checks.length === 0 || checks.length > maxChecks || Object.keys(body).length > 1) {
    throw new HttpProblem(400, `checks must be a list of 1 to ${maxChecks} checks, and stand alone.`)
  }
  return checks
}

/**
 * The decision as a response of its own, with what `/v1/auth` says to it; a denial also has the whole decision in its
 * body.
 */
function mirrored(decision: Decision, { headers, denial }: DecisionAnswer): Response {
  const json = decisionJson(decision)
  const body = denial === undefined ? json : { ...denial.problem, decision: json }
  return new Response(JSON.stringify(body), {
    status: denial?.status ?? 200,
    headers: { ...jsonHeaders, ...lowerCased(headers) },
  })
}

/** Header names in one spelling, so that a later one replaces an earlier one. */
function lowerCased(headers: DecisionAnswer['headers']): Record<string, string> {
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))
}
