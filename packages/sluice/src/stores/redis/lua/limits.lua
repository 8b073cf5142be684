-- The twin of core/algorithms: how much room a limit has, spending it, giving back, and when it is over.
-- `st.f` holds the fields of all limits of a subject; a limit's first one is at its offset. Times in `f` are absolute.

local floor, ceil, max = math.floor, math.ceil, math.max

local function is_current(f, o, limit, now, now_ms)
  if limit[6] == 1 then return f[o] == floor(now / 1000 / limit[5]) * limit[5] end
  return now_ms - f[o] < limit[5]
end

-- The counts of this window and the one before.
local function two_counts(f, o, limit, now_ms)
  local start = floor(now_ms / limit[5]) * limit[5]
  if f[o] == start then return start, f[o + 1], f[o + 2] end
  if f[o] == start - limit[5] then return start, 0, f[o + 1] end
  return start, 0, 0
end

local function full_at(f, o, limit, now)
  local at = f[o]
  if at <= now then return now end
  local interval = f[o + 1]
  if interval == limit[6] then return at end
  return now + ceil((at - now) / interval) * limit[6]
end

local function calendar_start(limit, now)
  return now < limit[7] * 1000 and limit[6] or limit[7]
end

local function tick_of(limit, us)
  return limit[6] == 1 and us or ceil(us / limit[6]) * limit[6]
end

local function drop_expired(log, limit, now)
  local oldest, kept = now - limit[5] * 1000, {}
  for e = 1, #log, 2 do
    if log[e] > oldest then
      kept[#kept + 1] = log[e]
      kept[#kept + 1] = log[e + 1]
    end
  end
  return kept
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

local function room_of(st, limit, now, now_ms)
  local code, f, o = limit[1], st.f, limit[3]
  if code == 0 then
    if is_current(f, o, limit, now, now_ms) then return max(0, limit[4] - f[o + 1]) end
    return limit[4]
  elseif code == 1 then
    local start, current, previous = two_counts(f, o, limit, now_ms)
    return max(0, floor(limit[4] - current - (previous * (limit[5] - (now_ms - start))) / limit[5]))
  elseif code == 2 then
    local used, oldest, log = 0, now - limit[5] * 1000, f[o]
    if log == 0 then return limit[4] end
    for e = 1, #log, 2 do if log[e] > oldest then used = used + log[e + 1] end end
    return max(0, limit[4] - used)
  elseif code == 3 then
    return max(0, limit[7] - ceil((full_at(f, o, limit, now) - now) / limit[6]))
  elseif code == 4 then
    if f[o] == calendar_start(limit, now) then return max(0, limit[4] - f[o + 1]) end
    return limit[4]
  end
  local held, holds = 0, st.holds
  if holds then
    for h = 1, #holds do
      if holds[h].kind ~= 2 and holds[h].expires > now then held = held + holds[h].cost end
    end
  end
  return max(0, limit[4] - held)
end

local function spend_of(st, limit, units, now, now_ms)
  local code, f, o = limit[1], st.f, limit[3]
  if code == 0 then
    if is_current(f, o, limit, now, now_ms) then
      f[o + 1] = f[o + 1] + units
    else
      f[o] = limit[6] == 1 and floor(now / 1000 / limit[5]) * limit[5] or now_ms
      f[o + 1] = units
    end
  elseif code == 1 then
    local start, current, previous = two_counts(f, o, limit, now_ms)
    f[o], f[o + 1], f[o + 2] = start, current + units, previous
  elseif code == 2 then
    if units == 0 then return end
    local log = f[o] == 0 and {} or drop_expired(f[o], limit, now)
    local tick = tick_of(limit, now)
    if #log > 0 and log[#log - 1] == tick then
      log[#log] = log[#log] + units
    else
      log[#log + 1] = tick
      log[#log + 1] = units
    end
    f[o] = log
  elseif code == 3 then
    f[o] = full_at(f, o, limit, now) + units * limit[6]
    f[o + 1] = limit[6]
  elseif code == 4 then
    local start = calendar_start(limit, now)
    f[o + 1] = f[o] == start and f[o + 1] + units or units
    f[o] = start
  end
end

local function give_back_of(st, limit, units, taken, now, now_ms)
  local code, f, o = limit[1], st.f, limit[3]
  if code == 0 then
    if is_current(f, o, limit, now, now_ms) and f[o] <= floor(taken / 1000) then f[o + 1] = max(0, f[o + 1] - units) end
  elseif code == 1 then
    local start, current, previous = two_counts(f, o, limit, now_ms)
    local taken_start = floor(floor(taken / 1000) / limit[5]) * limit[5]
    if taken_start == start then current = max(0, current - units) end
    if taken_start == start - limit[5] then previous = max(0, previous - units) end
    f[o], f[o + 1], f[o + 2] = start, current, previous
  elseif code == 2 then
    local log = f[o] == 0 and {} or drop_expired(f[o], limit, now)
    local latest = tick_of(limit, taken)
    for e = #log - 1, 1, -2 do
      if units > 0 and log[e] <= latest then
        local back = math.min(units, log[e + 1])
        units = units - back
        log[e + 1] = log[e + 1] - back
        if log[e + 1] == 0 then
          table.remove(log, e + 1)
          table.remove(log, e)
        end
      end
    end
    f[o] = log
  elseif code == 3 then
    local back = max(0, units * limit[6] - (now - taken))
    f[o] = max(now, full_at(f, o, limit, now) - back)
    f[o + 1] = limit[6]
  elseif code == 4 then
    local start = calendar_start(limit, now)
    if f[o] == start and start <= taken / 1000 then f[o + 1] = max(0, f[o + 1] - units) end
  end
end

local function end_of(st, limit, now, now_ms)
  local code, f, o = limit[1], st.f, limit[3]
  if code == 0 then
    return is_current(f, o, limit, now, now_ms) and (f[o] + limit[5]) * 1000 or now
  elseif code == 1 then
    local start = two_counts(f, o, limit, now_ms)
    return (start + 2 * limit[5]) * 1000
  elseif code == 2 then
    local log = f[o]
    return (log ~= 0 and #log > 0) and max(now, log[#log - 1] + limit[5] * 1000) or now
  elseif code == 3 then
    return full_at(f, o, limit, now)
  elseif code == 4 then
    return (calendar_start(limit, now) == limit[6] and limit[7] or limit[8]) * 1000
  end
  return now
end
