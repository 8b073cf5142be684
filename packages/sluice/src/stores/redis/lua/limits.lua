-- The twin of core/algorithms: how much fits, spending it, giving back, and how long it matters.
-- `p` is the state of a subject (see state.lua), already brought to `now`: windows are told by their age in ms (-1: never was one),
-- a gcra by the us until it is full again, log entries by their age in us. `set` is the subject's limits; set[0] is the last place.

local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

-- The age of the window that a limit is in at `now`; a stored window of another age is over.
local function window_age(limit, code, now, now_ms)
  if code == 4 then return now_ms - (now < limit[7] * 1000 and limit[6] or limit[7]) end
  if code == 1 then return now_ms - floor(now_ms / limit[5]) * limit[5] end
  return now_ms - floor(now / 1000 / limit[5]) * limit[5]
end

-- Whether the stored window of a fixed-window or calendar limit is the one at `now`.
local function is_current(p, o, limit, code, now, now_ms)
  local age = p[o]
  if code == 0 and limit[6] == 0 then return age >= 0 and age < limit[5] end
  return age >= 0 and age == window_age(limit, code, now, now_ms)
end

-- The counts of this clock-aligned window and of the one before, and this window's age.
local function two_counts(p, o, limit, now, now_ms)
  local age = window_age(limit, 1, now, now_ms)
  if p[o] == age then return p[o + 1], p[o + 2], age end
  if p[o] == age + limit[5] then return 0, p[o + 1], age end
  return 0, 0, age
end

-- The us until a gcra is full again, counted with the rate of today.
local function to_full(p, o, limit)
  local left = p[o]
  if left == 0 or p[o + 1] == limit[6] then return left end
  return ceil(left / p[o + 1]) * limit[6]
end

-- The age of a log entry made at `us`: entries of large logs share ticks, which lie up to one tick ahead.
local function entry_age(limit, us, now)
  if limit[6] == 1 then return now - us end
  return now - ceil(us / limit[6]) * limit[6]
end

local function live_entries(log, limit)
  local period, first = limit[5] * 1000, 1
  while log[first] and log[first] >= period do first = first + 2 end
  if first == 1 then return log end
  local live = {}
  for e = first, #log do live[e - first + 1] = log[e] end
  return live
end

local function held_in(p, set)
  local holds, held = p[set[0] + 2], 0
  if holds then
    for h = 1, #holds, 5 do
      if holds[h + 4] ~= 2 and holds[h + 2] > 0 then held = held + holds[h + 3] end
    end
  end
  return held
end

-- How many copies of the cost fit into every limit, at most `copies`.
local function fit(p, set, cost, copies, now, now_ms)
  if cost == 0 then return copies end
  for l = 1, #set do
    local limit = set[l]
    local code, o, room = limit[1], limit[3], limit[4]
    if code == 3 then
      room = limit[7] - ceil(to_full(p, o, limit) / limit[6])
    elseif code == 0 or code == 4 then
      if is_current(p, o, limit, code, now, now_ms) then room = room - p[o + 1] end
    elseif code == 1 then
      local current, previous, age = two_counts(p, o, limit, now, now_ms)
      room = floor(room - current - (previous * (limit[5] - age)) / limit[5])
    elseif code == 2 then
      local log, period = p[o], limit[5] * 1000
      for e = 1, #log, 2 do if log[e] < period then room = room - log[e + 1] end end
    else
      -- Copies occupy no place: where one fits, all do.
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
  local code, o = limit[1], limit[3]
  if code == 3 then
    p[o] = to_full(p, o, limit) + units * limit[6]
    p[o + 1] = limit[6]
  elseif code == 0 or code == 4 then
    if is_current(p, o, limit, code, now, now_ms) then
      p[o + 1] = p[o + 1] + units
    else
      p[o] = (code == 0 and limit[6] == 0) and 0 or window_age(limit, code, now, now_ms)
      p[o + 1] = units
    end
  elseif code == 1 then
    local current, previous, age = two_counts(p, o, limit, now, now_ms)
    p[o], p[o + 1], p[o + 2] = age, current + units, previous
  elseif code == 2 and units > 0 then
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
  -- Nothing spent must not start a window.
  if units == 0 then return end
  for l = 1, #set do spend_one(p, set[l], units, now, now_ms) end
end

-- Gives back what was taken at `taken` and held for `held` us.
local function give_back(p, set, units, taken, held, now, now_ms)
  for l = 1, #set do
    local limit = set[l]
    local code, o = limit[1], limit[3]
    if code == 3 then
      p[o] = max(0, p[o] - max(0, units * p[o + 1] - held))
    elseif code == 0 or code == 4 then
      if is_current(p, o, limit, code, now, now_ms) and now_ms - p[o] <= floor(taken / 1000) then
        p[o + 1] = max(0, p[o + 1] - units)
        if p[o + 1] == 0 then p[o] = -1 end
      end
    elseif code == 1 then
      local current, previous, age = two_counts(p, o, limit, now, now_ms)
      local start, taken_start = now_ms - age, floor(floor(taken / 1000) / limit[5]) * limit[5]
      if taken_start == start then current = max(0, current - units) end
      if taken_start == start - limit[5] then previous = max(0, previous - units) end
      p[o], p[o + 1], p[o + 2] = age, current, previous
    elseif code == 2 then
      -- The amount, and with it the sharing of ticks, may have changed since: what was taken stands at its time or at its tick.
      local tick = ceil(limit[5] / 1000) * 1000
      local log, youngest, at_tick, left = live_entries(p[o], limit), now - taken, now - ceil(taken / tick) * tick, units
      for e = #log - 1, 1, -2 do
        if left > 0 and (log[e] >= youngest or log[e] == at_tick) then
          local back = min(left, log[e + 1])
          left = left - back
          log[e + 1] = log[e + 1] - back
          if log[e + 1] == 0 then
            table.remove(log, e + 1)
            table.remove(log, e)
          end
        end
      end
      p[o] = log
    end
  end
end

-- For how many ms the state still matters.
local function life(p, set, now, now_ms)
  local longest = 0
  for l = 1, #set do
    local limit = set[l]
    local code, o, left = limit[1], limit[3], 0
    if code == 3 then
      left = ceil(p[o] / 1000)
    elseif code == 0 then
      if is_current(p, o, limit, code, now, now_ms) then left = limit[5] - p[o] end
    elseif code == 1 then
      local current, previous, age = two_counts(p, o, limit, now, now_ms)
      if current > 0 then left = 2 * limit[5] - age elseif previous > 0 then left = limit[5] - age end
    elseif code == 2 then
      local log = p[o]
      if #log > 0 then left = ceil((limit[5] * 1000 - log[#log - 1]) / 1000) end
    elseif code == 4 and is_current(p, o, limit, code, now, now_ms) then
      left = (now < limit[7] * 1000 and limit[7] or limit[8]) - now_ms
    end
    if left > longest then longest = left end
  end
  local holds = p[set[0] + 2]
  if holds then
    for h = 1, #holds, 5 do longest = max(longest, ceil(holds[h + 2] / 1000)) end
  end
  return longest
end

-- Whether every calendar limit was sent the period that this server is in.
local function calendars_cover(sets, now)
  for s = 1, #sets do
    for l = 1, #sets[s] do
      local limit = sets[s][l]
      if limit[1] == 4 and (now < limit[6] * 1000 or now >= limit[8] * 1000) then return false end
    end
  end
  return true
end
