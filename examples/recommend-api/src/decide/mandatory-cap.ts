import type { Limiter, RecountTake } from 'sluice'
import type { Database } from '../data/database.ts'

/** Uses PostgreSQL while Redis cannot decide, and restores the counters of a Redis that has lost them. */
export function recountMandatory(database: Database): RecountTake {
  return {
    take: ([tenant, customer], { start, amount }) =>
      database.deliverMandatory(String(tenant), String(customer), start, amount),
    count: ([tenant, customer], { start }) => database.mandatoryDelivered(String(tenant), String(customer), start),
  }
}

/**
 * Whether a mandatory offer may be delivered to a customer of a tenant today. Redis refuses most excess requests
 * without a query; what it allows is recorded by the same statement that decides while it is away, so that the cap
 * holds in both cases.
 */
export async function mayDeliver(
  [tenant, customer]: readonly [tenant: string, customer: string],
  cap: number,
  limiter: Limiter,
  database: Database,
): Promise<boolean> {
  const decision = await limiter.take([tenant, customer], { rule: 'mandatory' })
  if (!decision.allowed) return false
  if (decision.by === 'recount') return true
  // An offer that cannot be recorded is not delivered.
  return database.deliverMandatory(tenant, customer, utcDay(), cap).catch(() => false)
}

function utcDay(): Date {
  const day = new Date()
  day.setUTCHours(0, 0, 0, 0)
  return day
}
