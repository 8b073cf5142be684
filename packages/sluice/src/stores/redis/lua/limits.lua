-- The twin of core/algorithms: how much fits, spending it, returning it, and how long it is needed.
-- `p` is the state of a subject (see state.lua), already brought to `now`: a window has its age in ms (-1: there is
-- none), a gcra the us until it is full again, a log entry its age in us. `set` is the subject's limits. `o` is the
-- index of a limit's first field.

-- The length of a limit's window at an instant, and the age of that window; -1 when a window starts at the first hit.
local function window_at(limit, now_ms)
  if limit[ALGORITHM] == CALENDAR then
    if now_ms < limit[MIDDLE] then return limit[MIDDLE] - limit[START], now_ms - limit[START] end
    return limit[END] - limit[MIDDLE], now_ms - limit[MIDDLE]
  end
  return limit[PERIOD], limit[ALIGNED] == 1 and now_ms % limit[PERIOD] or -1
end

--- @include share.lua

-- The counts of this clock-aligned window and of the one before, and this window's age.
local function two_counts(p, o, limit, now_ms)
  local age = now_ms % limit[PERIOD]
  if p[o] == age then return p[o + 1], p[o + 2], age end
  if p[o] == age + limit[PERIOD] then return 0, p[o + 1], age end
  return 0, 0, age
end

-- The us until a gcra is full again, computed with the current rate.
local function to_full(p, o, limit)
  local left = p[o]
  if left == 0 or p[o + 1] == limit[INTERVAL] then return left end
  return ceil(left / p[o + 1]) * limit[INTERVAL]
end

-- The age of a log entry made at `us`: entries of large logs share ticks, which lie up to one tick ahead.
local function entry_age(limit, us, now)
  if limit[TICK] == 1 then return now - us end
  return now - ceil(us / limit[TICK]) * limit[TICK]
end

local function live_entries(log, limit)
  local period, first = limit[PERIOD] * 1000, 1
  while log[first] and log[first] >= period do first = first + 2 end
  if first == 1 then return log end
  local live = {}
  for e = first, #log do live[e - first + 1] = log[e] end
  return live
end

local function held_in(p, set)
  local holds, held = p[set[LAST] + 2], 0
  if holds then
    for h = 1, #holds, HOLD_WIDTH do
      local kind = holds[h + HOLD_KIND]
      if kind ~= RECEIPT and kind < BLOCK and holds[h + HOLD_LEFT] > 0 then held = held + holds[h + HOLD_COST] end
    end
  end
  return held
end

-- What was spent in the current period and how far the bucket is from full; then the position of now, the period's age,
-- the segment of the curve, and how much may be spent.
local function paced(p, limit, at_ms)
  local o, amount, burst, interval = limit[FIRST], limit[AMOUNT], limit[BURST], limit[INTERVAL]
  local s = at_ms < limit[SEGMENT + SEGMENT_END] and SEGMENT or SEGMENT + SEGMENT_WIDTH
  local begins, ends, rises_from, rises_to = unpack(limit, s, s + SEGMENT_TO)
  --- @inline pace-plan.lua
  local age, spent, full, before, from = at_ms - limit[s + PERIOD_START], 0, 0, 0, 0
  if p[o] == age then spent, full, before, from = unpack(p, o + 1, o + 4) end
  --- @inline pace-room.lua
  return spent, debt, position, age, s, room
end

-- How many copies of the cost fit into every limit, at most `copies`.
local function fit(p, set, cost, copies, now_ms)
  if cost == 0 then return copies end
  local holds, charges = p[set[LAST] + 2], set.block and set.block[BLOCK_COUNTS] == CHARGES
  if charges then copies = min(copies, set.block[BLOCK_AFTER]) end
  for h = 1, holds and #holds or 0, HOLD_WIDTH do
    if holds[h + HOLD_KIND] == BLOCK then return 0 end
    -- Charges lead to a block themselves.
    if charges and holds[h + HOLD_KIND] == STRIKES then
      copies = min(copies, max(1, set.block[BLOCK_AFTER] - holds[h + HOLD_COST]))
    end
  end
  for l = 1, #set do
    local limit = set[l]
    local algorithm, o, room = limit[ALGORITHM], limit[FIRST], limit[AMOUNT]
    if algorithm == GCRA then
      room = limit[BURST] - ceil(to_full(p, o, limit) / limit[INTERVAL])
    elseif algorithm == FIXED_WINDOW or algorithm == CALENDAR then
      local age, length, clock_age = p[o], window_at(limit, now_ms)
      --- @inline window-rule.lua
      if current then room = room - p[o + 1] end
    elseif algorithm == SLIDING_WINDOW then
      local count, previous, age = two_counts(p, o, limit, now_ms)
      room = floor(room - count - (previous * (limit[PERIOD] - age)) / limit[PERIOD])
    elseif algorithm == PACE then
      local _, _, _, _, _, room_of_pace = paced(p, limit, now_ms)
      room = room_of_pace
    elseif algorithm == SHARE then
      room = share_room(p, limit, now_ms)
    elseif algorithm == SLIDING_LOG then
      local log, period = p[o], limit[PERIOD] * 1000
      for e = 1, #log, 2 do if log[e] < period then room = room - log[e + 1] end end
    else
      -- Copies take no permit: if one fits, all do.
      room = room - held_in(p, set)
      if room < cost then return 0 end
      room = copies * cost
    end
    if room < copies * cost then
      copies = floor(room / cost)
      if copies <= 0 then return 0 end
    end
  end
  return copies
end

local function spend_one(p, limit, units, now, now_ms)
  local algorithm, o = limit[ALGORITHM], limit[FIRST]
  if algorithm == GCRA then
    p[o] = to_full(p, o, limit) + units * limit[INTERVAL]
    p[o + 1] = limit[INTERVAL]
  elseif algorithm == FIXED_WINDOW or algorithm == CALENDAR then
    local age, length, clock_age = p[o], window_at(limit, now_ms)
    --- @inline window-rule.lua
    p[o], p[o + 1] = age, current and p[o + 1] + units or units
  elseif algorithm == SLIDING_WINDOW then
    local count, previous, age = two_counts(p, o, limit, now_ms)
    p[o], p[o + 1], p[o + 2] = age, count + units, previous
  elseif algorithm == PACE then
    local interval, count, debt, position, age = limit[INTERVAL], paced(p, limit, now_ms)
    p[o], p[o + 1], p[o + 2] = age, count + units, min(FARTHEST, position + debt + units * interval)
    p[o + 3], p[o + 4] = interval, position
  elseif algorithm == SHARE then
    spend_share(p, limit, units, now_ms)
  elseif algorithm == SLIDING_LOG and units > 0 then
    local log, age = live_entries(p[o], limit), entry_age(limit, now, now)
    local last = #log
    -- A log stays in order also when a change of the amount ends the sharing of ticks.
    if last > 0 then age = min(age, log[last - 1]) end
    if last > 0 and log[last - 1] == age then
      log[last] = log[last] + units
    else
      log[last + 1], log[last + 2] = age, units
    end
    p[o] = log
  end
end

local function spend(p, set, units, now, now_ms)
  -- A cost of 0 must not start a window.
  if units == 0 then return end
  for l = 1, #set do spend_one(p, set[l], units, now, now_ms) end
end

-- Removes units from the entries of a log that were made at `taken`. The amount, and with it the sharing of ticks, may
-- have changed since: the units are at their time or at their tick.
local function give_back_to_log(log, limit, units, taken, now)
  local tick = ceil(limit[PERIOD] / 1000) * 1000
  local youngest, at_tick = now - taken, now - ceil(taken / tick) * tick
  for e = #log - 1, 1, -2 do
    if units > 0 and (log[e] >= youngest or log[e] == at_tick) then
      local back = min(units, log[e + 1])
      units = units - back
      log[e + 1] = log[e + 1] - back
      if log[e + 1] == 0 then
        table.remove(log, e + 1)
        table.remove(log, e)
      end
    end
  end
end

-- Returns what was taken at `taken` and held for `held` us.
local function give_back(p, limit, units, taken, held, now, now_ms)
  local algorithm, o = limit[ALGORITHM], limit[FIRST]
  if algorithm == GCRA then
    p[o] = max(0, p[o] - max(0, units * p[o + 1] - held))
  elseif algorithm == FIXED_WINDOW or algorithm == CALENDAR then
    local age, length, clock_age = p[o], window_at(limit, now_ms)
    --- @inline window-rule.lua
    if current and now_ms - age <= floor(taken / 1000) then
      p[o + 1] = max(0, p[o + 1] - units)
      if p[o + 1] == 0 and not limit.of_pace then p[o] = -1 end
    end
  elseif algorithm == SLIDING_WINDOW then
    local count, previous, age = two_counts(p, o, limit, now_ms)
    local start, taken_start = now_ms - age, floor(floor(taken / 1000) / limit[PERIOD]) * limit[PERIOD]
    if taken_start == start then count = max(0, count - units) end
    if taken_start == start - limit[PERIOD] then previous = max(0, previous - units) end
    p[o], p[o + 1], p[o + 2] = age, count, previous
  elseif algorithm == PACE then
    local count, _, _, age, s = paced(p, limit, now_ms)
    if p[o] == age and floor(taken / 1000) >= limit[s + PERIOD_START] then
      p[o + 1] = max(0, count - units)
    end
  elseif algorithm == SHARE then
    if p[o] >= 0 and now_ms - p[o] <= floor(taken / 1000) then p[o + 2] = max(0, p[o + 2] - units) end
  elseif algorithm == SLIDING_LOG then
    p[o] = live_entries(p[o], limit)
    give_back_to_log(p[o], limit, units, taken, now)
  end
end

-- For how many ms the fields of a limit are still needed.
local function life(p, limit, now_ms)
  local algorithm, o = limit[ALGORITHM], limit[FIRST]
  if algorithm == GCRA then
    return ceil(p[o] / 1000)
  elseif algorithm == FIXED_WINDOW or algorithm == CALENDAR then
    local age, length, clock_age = p[o], window_at(limit, now_ms)
    --- @inline window-rule.lua
    return current and length - age or 0
  elseif algorithm == SLIDING_WINDOW then
    local count, previous, age = two_counts(p, o, limit, now_ms)
    return count > 0 and 2 * limit[PERIOD] - age or previous > 0 and limit[PERIOD] - age or 0
  elseif algorithm == PACE then
    local _, _, _, age, s = paced(p, limit, now_ms)
    return p[o] == age and limit[s + PERIOD_END] - now_ms or 0
  elseif algorithm == SHARE then
    return p[o] >= 0 and max(0, p[o + 1] - p[o]) or 0
  elseif algorithm == SLIDING_LOG then
    local log = p[o]
    return #log > 0 and ceil((limit[PERIOD] * 1000 - log[#log - 1]) / 1000) or 0
  end
  return 0
end

-- Whether every calendar limit was sent the period that this server is in.
local function calendars_cover(sets, now)
  for s = 1, #sets do
    for l = 1, #sets[s] do
      local limit = sets[s][l]
      if limit[ALGORITHM] == PACE then
        local second = SEGMENT + SEGMENT_WIDTH
        if now < limit[SEGMENT] * 1000 or now >= limit[second + SEGMENT_END] * 1000 then return false end
      end
      if limit[ALGORITHM] == CALENDAR and (now < limit[START] * 1000 or now >= limit[END] * 1000) then return false end
    end
  end
  return true
end
