-- State changes of places. See calls.ts.

local function group(limit, process, tick) return 'g' .. limit .. ' ' .. process .. ' ' .. tick end

local function drop_assigned(process, id)
  local ids = assigned_to(process)
  for at, each in ipairs(ids) do
    if each == id then
      table.remove(ids, at)
      assigned_changed[process] = true
      return
    end
  end
end

local function add_assigned(w)
  local ids = assigned_to(w.owner)
  ids[#ids + 1] = w.id
  assigned_changed[w.owner] = true
end

local function pass_over(w)
  dequeue(w)
  add_assigned(w)
end

local function lapse(id, c)
  local w = find_waiter(id)
  put_call(id, nil)
  unspend(c.units)
  if w then refund_service(w.tenant, w.charge) else drop_assigned(c.owner, id) end
end

local function forget_assigned(process)
  local ids = {}
  for at, id in ipairs(assigned_to(process)) do ids[at] = id end
  for _, id in ipairs(ids) do
    local c = find_call(id)
    if c then lapse(id, c) end
    put_waiter(id, nil)
  end
  if #ids > 0 then assigned[process], assigned_changed[process] = {}, true end
end

local function unassign(id, c)
  local w = find_waiter(id)
  put_call(id, nil)
  drop_assigned(c.owner, id)
  unspend(c.units)
  if not w then return end
  refund_service(w.tenant, w.charge)
  enqueue(w)
end

local function cancel(process, id)
  local w, c = find_waiter(id), find_call(id)
  local of = w or c
  if not of or of.owner ~= process then return { 'gone' } end
  if c and c.phase == 'answered' then return { 'no' } end
  if w then
    if not dequeue(w) and c then refund_service(w.tenant, w.charge) end
    put_waiter(id, nil)
  end
  if c then
    unspend(c.units)
    put_call(id, nil)
  end
  drop_assigned(process, id)
  return { 'ok' }
end

local function is_over(c)
  for _, limit in ipairs(limits) do
    local used = count('u' .. limit.key)
    if used > allowed(limit) and used > (c.units[limit.key] or 0) then return true end
  end
  return false
end

local function confirm_all()
  local held, paused, ids = {}, {}, {}
  for at, id in ipairs(assigned_to(owner)) do ids[at] = id end
  table.sort(ids)
  for _, id in ipairs(ids) do
    local c, w = find_call(id), find_waiter(id)
    local scope = w and w.scope or ''
    local paused_ms = scope == '' and 0 or pause_of(scope)
    if not c then
      drop_assigned(owner, id)
      if w then enqueue(w) end
    elseif paused_ms > 0 then
      cancel(owner, id)
      paused[#paused + 1] = { id, paused_ms }
    elseif meta.recovering == 1 or pause_of('') > 0 or is_over(c) then
      unassign(id, c)
    else
      put_waiter(id, nil)
      drop_assigned(owner, id)
      put_call(id, { owner = owner, phase = 'held', until_ms = now + rules.heldMs, units = c.units, ticks = c.ticks })
      held[#held + 1] = id
    end
  end
  return held, paused
end

local function answered(step)
  local c = find_call(step.id)
  if not c or c.owner ~= owner then return { 'gone' } end
  if c.phase ~= 'held' then return { c.phase == 'answered' and 'ok' or 'gone' } end
  local kept, kept_ticks = {}, {}
  for key, units in pairs(c.units) do
    local limit, tick = limit_of[key], step.ticks[key]
    if not limit or (limit.periodMs > 0 and not tick) then add('u' .. key, -units) else kept[key] = units end
    if limit and limit.periodMs > 0 and tick then
      add(group(key, owner, tick), units)
      note_answered(limit, units)
      kept_ticks[key] = tick
    end
  end
  put_call(step.id, { owner = owner, phase = 'answered', until_ms = c.until_ms, units = kept, ticks = kept_ticks })
  return { 'ok' }
end

local function release_answered(c)
  for key, units in pairs(c.units) do
    if not c.ticks[key] then add('u' .. key, -units) end
  end
end

local function change_group(key, at, change)
  add(at, change)
  add('u' .. key, change)
  if change > 0 then note_undated(key, change) else forget_answered(key, -change, true) end
end

local function settle(limit, difference, tick, now_tick)
  local key = limit.key
  local at = tick and group(key, owner, tick)
  local kept = at and count(at) or 0
  if kept > 0 then
    change_group(key, at, max(difference, -kept))
  elseif difference > 0 and now_tick then
    add(group(key, owner, now_tick), difference)
    add('u' .. key, difference)
    note_answered(limit, difference)
  end
end

local function done(step)
  local c = find_call(step.id)
  if not c or c.owner ~= owner or c.phase ~= 'answered' then return { 'gone' } end
  release_answered(c)
  for _, limit in ipairs(step.units and limits or {}) do
    local key, units = limit.key, step.units[limit.key]
    if units and limit.periodMs > 0 then settle(limit, units - (c.units[key] or 0), c.ticks[key], step.ticks[key]) end
  end
  put_call(step.id, nil)
  return { 'ok' }
end

local function free(step)
  local at = group(step.limit, owner, step.tick)
  local units = count(at)
  if units == 0 then return { 'gone' } end
  add(at, -units)
  add('u' .. step.limit, -units)
  forget_answered(step.limit, units, false)
  return { 'ok' }
end

local function drop(id, c)
  if c.phase == 'answered' then release_answered(c) else unspend(c.units) end
  put_call(id, nil)
  put_waiter(id, nil)
  drop_assigned(c.owner, id)
end

-- Every field that is stored or is about to be.
local function all_fields()
  local fields = {}
  for _, field in ipairs(call('HKEYS', S)) do fields[field] = true end
  for field in pairs(changed) do fields[field] = true end
  for id in pairs(call_changed) do fields['c' .. id] = true end
  return fields
end

-- `confirmed` are the calls that became its own in this exchange.
local function register(step, confirmed)
  local told, kept = {}, {}
  for _, each in ipairs(step.calls) do told[each.id] = true end
  for _, id in ipairs(confirmed) do told[id] = true end
  for _, each in ipairs(step.groups) do kept[group(each.limit, owner, each.tick)] = true end
  for field in pairs(all_fields()) do
    local kind, rest = string.sub(field, 1, 1), string.sub(field, 2)
    if kind == 'c' and not told[rest] then
      local c = find_call(rest)
      if c and c.owner == owner then drop(rest, c) end
    elseif kind == 'g' and not kept[field] then
      local limit, process = string.match(rest, '^(%S+) (%S+) %S+$')
      if process == owner then
        change_group(limit, field, -count(field))
      end
    end
  end
  for _, each in ipairs(step.calls) do
    local before = find_call(each.id)
    if before then drop(each.id, before) end
    local named, ticks = {}, {}
    for key, taken in pairs(clamp_units(each.units)) do
      local in_flight = limit_of[key].periodMs == 0
      if not each.ticks or in_flight or each.ticks[key] then
        named[key] = taken
        if not each.ticks or in_flight then add('u' .. key, taken) end
      end
    end
    for key, tick in pairs(each.ticks or {}) do
      if limit_of[key] and limit_of[key].periodMs > 0 then ticks[key] = tick end
    end
    local phase = each.ticks and 'answered' or 'held'
    put_call(each.id, { owner = owner, phase = phase, until_ms = now + rules.heldMs, units = named, ticks = ticks })
  end
  for _, each in ipairs(step.groups) do
    local at = group(each.limit, owner, each.tick)
    change_group(each.limit, at, each.units - count(at))
  end
  return { 'ok' }
end
