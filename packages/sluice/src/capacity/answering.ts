import type { Guard } from '../admission/guard.ts'
import { type GuardOutcome, passed } from '../admission/outcome.ts'
import { invalidOption } from '../core/errors.ts'
import type { Capacity } from './capacity.ts'

/**
 * Answers `POST <path>` with what the server can take, on every framework that has an adapter. If it is not ready, the
 * answer is 200 with `ready: false`.
 *
 * @example app.use(protect(answering(capacity, '/v1/events/capacity')))
 */
export function answering(capacity: Capacity, path: string): Guard<unknown> {
  if (typeof path !== 'string' || !path.startsWith('/')) {
    throw invalidOption('answering.path', path, 'give a path such as /v1/events/capacity')
  }
  return {
    readsBody: true,
    async decide(view) {
      if (view.method !== 'POST' || view.path !== path) return passed
      return answered(capacity.answer(shipperOf(view.body) ?? view.ip ?? 'unknown'))
    },
  }
}

/** The name in `{ shipper, pending }`. */
function shipperOf(body: unknown): string | undefined {
  const name: unknown = typeof body === 'object' && body !== null ? (body as { shipper?: unknown }).shipper : undefined
  return typeof name === 'string' && name !== '' ? name : undefined
}

/** A response in place of the handler's: adapters write it like a refusal, with its own status. */
function answered(value: unknown): GuardOutcome {
  const headers = [
    ['Content-Type', 'application/json'],
    ['Cache-Control', 'no-store'],
  ] as const
  const problem = { type: 'about:blank', title: 'OK', status: 200 }
  const denial = { status: 200, headers, body: JSON.stringify(value), problem, decision: undefined }
  return { decision: undefined, headers, denial, finish: undefined }
}
