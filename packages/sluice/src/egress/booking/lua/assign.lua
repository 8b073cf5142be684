-- Places of processes that are gone, and places for those who wait. See exchange.ts.

local function orphan_call(c, orphaned)
  for key, units in pairs(c.units) do
    if limit_of[key] and limit_of[key].periodMs > 0 then
      orphaned[key] = (orphaned[key] or 0) + units
      note_answered(limit_of[key], units)
    else
      add('u' .. key, -units)
    end
  end
end

local function adopt()
  local orphaned, gone = {}, false
  for process, seen in pairs(owners) do
    if process ~= owner and now - seen >= SILENT_MS then
      owners[process] = nil
      put('x' .. process, nil)
      forget_assigned(process)
      gone = true
    end
  end
  if gone then
    -- Groups may have been made or freed in this exchange, so counters decide, not what is stored.
    for field in pairs(all_fields()) do
      local limit, process = string.match(field, '^g(%S+) (%S+) %S+$')
      if limit and not owners[process] then
        local units = count(field)
        if units > 0 then
          add(field, -units)
          orphaned[limit] = (orphaned[limit] or 0) + units
        end
      end
    end
  end
  -- Calls of this exchange are not stored yet; none of them can have expired, as all of them last longer than zero.
  for _, id in ipairs(call('ZRANGEBYSCORE', E, '-inf', now)) do
    local c = find_call(id)
    if c and c.until_ms <= now then
      if c.phase == 'assigned' then lapse(id, c)
      elseif owners[c.owner] then
        put_call(id, { owner = c.owner, phase = c.phase, until_ms = now + rules.heldMs, units = c.units, ticks = c.ticks })
      else
        put_call(id, nil)
        if c.phase == 'answered' then release_answered(c) else orphan_call(c, orphaned) end
      end
    end
  end
  local keys, adopted = {}, {}
  for key, units in pairs(orphaned) do if units > 0 then keys[#keys + 1] = key end end
  table.sort(keys)
  local tick = string.format('adopted-%.0f', now)
  for at, key in ipairs(keys) do
    add(group(key, owner, tick), orphaned[key])
    adopted[at] = { key, tick, orphaned[key] }
  end
  return adopted
end

local function assign(held)
  local notify, at_of = {}, {}
  if meta.recovering == 1 then return notify end
  while true do
    local best = call('ZRANGEBYSCORE', T, '-inf', string.format('(%.0f', IDLE), 'LIMIT', 0, 1)[1]
    if not best then return notify end
    local first = call('ZRANGEBYLEX', Q, '[' .. best .. '\0', '(' .. best .. '\1', 'LIMIT', 0, 1)[1]
    local id = first and string.match(first, '%z([^%z]*)$')
    local w = id and find_waiter(id)
    if not w then
      -- A part of the queue is missing; its waiters book again.
      if first then call('ZREM', Q, first) else set_tag(best, (tag_of(best)), false) end
    elseif not owners[w.owner] then
      dequeue(w)
      put_waiter(id, nil)
    elseif now - owners[w.owner] >= CONFIRM_MS then
      pass_over(w)
    elseif not fits(w.units) then
      return notify
    else
      serve(w.tenant, w.charge)
      dequeue(w)
      spend(w.units)
      local mine = w.owner == owner
      local phase, until_ms = mine and 'held' or 'assigned', now + (mine and rules.heldMs or CONFIRM_MS)
      put_call(id, { owner = w.owner, phase = phase, until_ms = until_ms, units = w.units, ticks = {} })
      if mine then
        put_waiter(id, nil)
        held[#held + 1] = id
      else
        add_assigned(w)
        if not at_of[w.owner] then
          notify[#notify + 1] = { owner = w.owner, ids = {} }
          at_of[w.owner] = #notify
        end
        local told = notify[at_of[w.owner]].ids
        told[#told + 1] = id
      end
    end
  end
end
