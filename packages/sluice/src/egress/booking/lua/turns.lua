-- Turns for those who wait. See turns.ts.

--- @const CLAIM_US = 25000
--- @const SILENT_US = 2000000
--- @const MOST_TURNS = 128

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
