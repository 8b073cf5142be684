import { addUnits } from './add-units.ts'
import type { TenantRecord, UpstreamState } from './state.ts'
import type { WaiterRecord } from './tenant-queue.ts'
import { TenantQueue } from './tenant-queue.ts'

/**
 * Start-time fair queueing. Each tenant has a tag in virtual time; the smallest one is served next and moves on by what
 * the service costs, divided by the tenant's weight. A tenant that was idle starts at the present virtual time: it has
 * no credit from before.
 */
export function nextTenant(state: UpstreamState): [string, TenantRecord] | undefined {
  let best: [string, TenantRecord] | undefined
  for (const entry of state.active) {
    const [name, { tag }] = entry
    if (best === undefined || tag < best[1].tag || (tag === best[1].tag && isBefore(name, best[0]))) best = entry
  }
  return best
}

/** By bytes, as Redis compares. */
function isBefore(a: string, b: string): boolean {
  return a < b
}

/** Adds a waiter; returns how many calls are ahead of it, at most. */
export function enqueue(state: UpstreamState, waiter: WaiterRecord): number {
  let tenant = state.tenants.get(waiter.tenant)
  if (tenant === undefined) {
    tenant = { tag: state.virtual, queue: new TenantQueue() }
    state.tenants.set(waiter.tenant, tenant)
  } else if (tenant.queue.length === 0) tenant.tag = Math.max(tenant.tag, state.virtual)
  const ahead = tenant.queue.add(waiter)
  state.active.set(waiter.tenant, tenant)
  state.waiters.set(waiter.id, waiter)
  state.waiting += 1
  for (const [key, units] of Object.entries(waiter.units)) addUnits(state.queued, key, units)
  return ahead
}

/** Takes a waiter out of the queue; false when it is not in it, such as one that is assigned. */
export function dequeue(state: UpstreamState, waiter: WaiterRecord): boolean {
  const tenant = state.tenants.get(waiter.tenant)
  if (!tenant?.queue.remove(waiter)) return false
  if (tenant.queue.length === 0) state.active.delete(waiter.tenant)
  state.waiting -= 1
  for (const [key, units] of Object.entries(waiter.units)) addUnits(state.queued, key, -units)
  return true
}

/**
 * Charges a tenant for a service. Virtual time always moves on, so that new waiters come after those who already
 * waited.
 */
export function serve(state: UpstreamState, tenantName: string, charge: number): void {
  let tenant = state.tenants.get(tenantName)
  if (tenant === undefined) {
    forgetIdle(state)
    tenant = { tag: state.virtual, queue: new TenantQueue() }
    state.tenants.set(tenantName, tenant)
  }
  const start = tenant.queue.length === 0 ? Math.max(tenant.tag, state.virtual) : tenant.tag
  state.virtual = Math.max(state.virtual + 1, start)
  tenant.tag = start + charge
}

/** Undoes the charge of a service that was not used. */
export function refundService(state: UpstreamState, tenantName: string, charge: number): void {
  const tenant = state.tenants.get(tenantName)
  if (tenant !== undefined) tenant.tag -= charge
}

/** Removes tenants that do not wait and whose tag has passed: a new tenant would start at the same point. */
function forgetIdle(state: UpstreamState): void {
  if (state.tenants.size < 1000) return
  for (const [name, { tag, queue }] of state.tenants) {
    if (queue.length === 0 && tag <= state.virtual) state.tenants.delete(name)
  }
}

/**
 * How many calls are served before one that has `rank` calls of its own tenant before it, if all tenants weigh the
 * same.
 */
export function aheadOf(state: UpstreamState, tenantName: string, rank: number): number {
  const own = state.tenants.get(tenantName)?.queue.length ?? 0
  const others = state.active.size - (own > 0 ? 1 : 0)
  return rank + Math.min(state.waiting - own, (rank + 1) * others)
}
