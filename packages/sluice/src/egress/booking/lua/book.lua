-- Requests a grant. See `book` in exchange.ts.

local function queued(w, ahead)
  local _, likely = wait_of(w.units, ahead)
  return { 'queued', ahead, likely }
end

local function book(step)
  local c = find_call(step.id)
  if c then return c.phase == 'assigned' and { 'queued', 0, 0 } or { 'held' } end
  local w = find_waiter(step.id)
  if w then return queued(w, ahead_of(w.tenant, rank_of(w))) end
  local paused_ms = step.scope == '' and 0 or pause_of(step.scope)
  if paused_ms > 0 then return { 'paused', paused_ms } end
  local units = clamp_units(step.units)
  local charge = charge_of(units, step.weight)
  if step.first then meta.tokens = min(MOST_TOKENS, meta.tokens + rules.retryPerCall) end
  if waiting() == 0 and meta.recovering == 0 and fits(units) then
    serve(step.tenant, charge)
    spend(units)
    put_call(step.id, { owner = owner, phase = 'held', until_ms = now + rules.heldMs, units = units, ticks = {} })
    return { 'held' }
  end
  meta.seq = meta.seq + 1
  w = {
    id = step.id, owner = owner, tenant = step.tenant, scope = step.scope, units = units, charge = charge,
    order = now - floor(step.waitedMs) - step.priorityMs, seq = meta.seq,
  }
  local ahead = ahead_of(step.tenant, rank_of(w))
  local least, likely = wait_of(units, ahead)
  if waiting() >= rules.maxQueue or length_of(step.tenant) >= rules.maxQueuePerTenant then return { 'full', ahead, likely } end
  if least > step.maxWaitMs then return { 'too-long', ahead, likely } end
  enqueue(w)
  return { 'queued', ahead, likely }
end
