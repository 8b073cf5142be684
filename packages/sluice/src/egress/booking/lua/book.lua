-- Requests for grants, and turns for those who wait. See book.ts.

--- @const CLAIM_US = 25000
--- @const SILENT_US = 2000000
--- @const MOST_TURNS = 128

local function units_ahead(ahead)
  local before = {}
  for unit, units in pairs(queued) do
    before[unit] = ahead >= meta.waiting and units or floor(units * ahead / meta.waiting)
  end
  return before
end

local function wait_of(w)
  local ahead = ahead_of(w) + #due
  return ahead, max(1, ceil(turn_in(w.units, ahead, units_ahead(ahead), false) / 1000))
end

local function may_pass()
  if meta.waiting > 0 then return false end
  for _, each in ipairs(due) do if each[2] == owner then return false end end
  return true
end

local function is_full(w)
  local own, half = tenant_node(w).waiting, ceil(rules.maxQueue / 2)
  local named = w.caller ~= '' or w.tenant ~= '' or meta.tenants > (own > 0 and 1 or 0)
  local share = (w.caller == '' or w.tenant == '') and half or ceil(half / 2)
  local most = rules.maxQueuePerTenant >= 0 and rules.maxQueuePerTenant or named and share or rules.maxQueue
  return meta.waiting >= rules.maxQueue or own >= most or (w.caller ~= '' and caller_node(w).waiting >= half)
end

local function book(step, given)
  local w = find_waiter(step.id)
  if w then
    local ahead, earliest = wait_of(w)
    return { 'queued', ahead, earliest }
  end
  local ms = (step.scope or '') ~= '' and paused_ms(step.scope) or 0
  if ms > 0 then return { 'paused', ms } end
  if step.first then meta.tokens = min(MOST_TOKENS, meta.tokens + rules.retryPerCall) end
  meta.seq = meta.seq + 1
  w = {
    id = step.id, owner = owner, caller = step.caller or '', tenant = step.tenant or '', scope = step.scope or '',
    order = floor(now / 1000) - floor(step.waitedMs) - (step.priorityMs or 0), seq = meta.seq, arrival = step.arrivalUs,
    units = step.units or {}, charge = charge_of(step.units or {}, 1),
  }
  w.tenant_charge = step.weight and charge_of(w.units, step.weight) or w.charge
  if may_pass() and fits(w.units) then
    given[#given + 1] = { w.id, grant(w) }
    return { 'ok' }
  end
  local ahead, earliest = wait_of(w)
  if is_full(w) then return { 'full', ahead, earliest } end
  if earliest > step.maxWaitMs and turn_in(w.units, ahead, units_ahead(ahead), true) > step.maxWaitMs * 1000 then
    return { 'too-long', ahead, earliest }
  end
  enqueue(w)
  put_waiter(w.id, w)
  return { 'queued', ahead, earliest }
end

local function drop_due(is_dropped)
  local kept = {}
  for _, each in ipairs(due) do
    if not is_dropped(each) then kept[#kept + 1] = each end
  end
  due = kept
end

local function cancel(id)
  local w = find_waiter(id)
  if not w or w.owner ~= owner then return { 'gone' } end
  put_waiter(id, nil)
  if not dequeue(w) then
    drop_due(function(each) return each[1] == id end)
    refund(w)
  end
  return { 'ok' }
end

local function reserve(units)
  for _, limit in ipairs(limits) do reserved[limit.key] = (reserved[limit.key] or 0) + cost_of(limit, units) end
end

local function reserve_due()
  for _, each in ipairs(due) do
    if each[2] ~= owner and now - each[3] <= CLAIM_US then reserve(each[4]) end
  end
end

local function give_own(w, given, paused)
  local ms = w.scope == '' and 0 or paused_ms(w.scope)
  if ms == 0 and not fits(w.units) then return 'full' end
  put_waiter(w.id, nil)
  if ms > 0 then
    paused[#paused + 1] = { w.id, ms }
    return 'paused'
  end
  given[#given + 1] = { w.id, grant(w) }
  return 'granted'
end

-- Returns in how many microseconds to ask again.
local function give_turns(given, paused)
  local first, gone = nil, {}
  for _, each in ipairs(due) do
    if each[2] == owner and not first then
      local w = find_waiter(each[1])
      if w and give_own(w, given, paused) == 'full' then first = w else gone[each[1]] = true end
    end
  end
  drop_due(function(each) return gone[each[1]] end)
  local turns = 0
  while not first do
    local w = first_waiter()
    if not w then return -1 end
    if turns == MOST_TURNS then return 0 end
    turns = turns + 1
    local o = owners[w.owner]
    if not o or o.gone then
      dequeue_first(w)
      put_waiter(w.id, nil)
    elseif w.owner == owner then
      local turn = give_own(w, given, paused)
      if turn == 'full' then break end
      if turn == 'granted' then charge(w) end
      dequeue_first(w)
    else
      local silent = now - o.seen >= SILENT_US
      if not silent and not fits(w.units) then break end
      charge(w)
      dequeue_first(w)
      due[#due + 1] = { w.id, w.owner, silent and 0 or now, w.units }
      if not silent then reserve(w.units) end
    end
  end
  local into = turn_in(first and first.units or {}, first and 0 or least_ahead(), {}, false)
  return into > 0 and into or CLAIM_US
end
