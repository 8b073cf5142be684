-- The log of each limit. See log.ts and state.ts.

--- @const EXACT_AMOUNT = 64
--- @const PARTS_OF_PERIOD = 128
--- @const STATED_US = 10000000

local function limit_of(key, amount)
  local unit, period = string.match(key, '^(.*)/(%d+)$')
  period = tonumber(period or 0)
  local width = amount > EXACT_AMOUNT and max(1, floor(period * 1000 / PARTS_OF_PERIOD)) or 1
  return { key = key, unit = unit or 'requests', period = period, amount = amount, width = width, counted = floor(period * 2001 / 2) + GUARD_US }
end

local function entry_of(limit, at) return ceil(at / limit.width) * limit.width end

-- Entries are flat: arrives, units, least.
local function enter(limit, at, units, least)
  if units <= 0 then return end
  local log = limit.log
  local arrives, e = entry_of(limit, at), log.entries
  local to = #e + 1
  while to > 1 and e[to - 3] > arrives do to = to - 3 end
  log.total, log.changed, log.frees = log.total + units, true, nil
  if least >= at then least = arrives end
  if e[to - 3] == arrives then
    e[to - 2], e[to - 1] = e[to - 2] + units, min(e[to - 1], least)
    return
  end
  for from = #e, to, -1 do e[from + 3] = e[from] end
  e[to], e[to + 1], e[to + 2] = arrives, units, least
end

local function remove_at(e, at)
  for to = at, #e do e[to] = e[to + 3] end
end

local function take_out(limit, at, units)
  local log = limit.log
  local arrives, e = entry_of(limit, at), log.entries
  for i = #e - 2, 1, -3 do
    if e[i] == arrives then
      local taken = min(units, e[i + 1])
      e[i + 1], log.total, log.changed, log.frees = e[i + 1] - taken, log.total - taken, true, nil
      if e[i + 1] == 0 then remove_at(e, i) end
      return taken
    end
  end
  return 0
end

local function expire(limit)
  local log, past, gone = limit.log, now - limit.counted, 0
  local e = log.entries
  while e[gone + 1] and e[gone + 1] <= past do
    log.total = log.total - e[gone + 2]
    gone = gone + 3
  end
  if gone == 0 then return end
  log.changed, log.frees = true, nil
  local size = #e
  for at = 1, size do e[at] = e[at + gone] end
end

local function cut_log(limit, latest)
  local log, e, late = limit.log, limit.log.entries, {}
  while #e > 0 and e[#e - 2] > latest do
    late[#late + 1] = { e[#e - 1], e[#e] }
    log.total = log.total - e[#e - 1]
    e[#e], e[#e - 1], e[#e - 2] = nil, nil, nil
  end
  for i = #late, 1, -1 do enter(limit, latest, late[i][1], late[i][2]) end
end

-- From when on units can be free a period later, in that order, and how many are then.
local function frees_of(log)
  local frees, e, sum = {}, log.entries, 0
  for i = 1, #e, 3 do frees[#frees + 1] = { e[i + 2], e[i + 1], e[i + 2] < e[i] } end
  table.sort(frees, function(a, b) return a[1] < b[1] end)
  for _, free in ipairs(frees) do
    sum = sum + free[2]
    free[4] = sum
  end
  return frees
end

local function free_in(limit, units, give_back)
  if units <= 0 then return 0 end
  local log = limit.log
  local rounds = floor((units - 1) / limit.amount)
  local left, into = units - rounds * limit.amount, limit.counted
  log.frees = log.frees or frees_of(log)
  local frees, low, high = log.frees, 1, #log.frees
  if give_back then
    for _, free in ipairs(frees) do if free[3] then left = left - free[2] end end
    if left <= 0 then return rounds * limit.counted end
    for _, free in ipairs(frees) do
      if not free[3] then
        left = left - free[2]
        if left <= 0 then return rounds * limit.counted + max(0, free[1] + limit.counted - now) end
      end
    end
    return rounds * limit.counted + into
  end
  while low <= high do
    local middle = floor((low + high) / 2)
    if frees[middle][4] >= left then high = middle - 1 else low = middle + 1 end
  end
  if frees[low] then into = max(0, frees[low][1] + limit.counted - now) end
  return rounds * limit.counted + into
end

-- The strictest of the limits that processes stated which were seen lately.
local function limits_in_force()
  local strictest, found = {}, {}
  for _, o in pairs(owners) do
    for _, each in ipairs(now - o.seen < STATED_US and o.limits or {}) do
      strictest[each.key] = min(strictest[each.key] or math.huge, each.amount)
    end
  end
  for key, amount in pairs(strictest) do found[#found + 1] = limit_of(key, amount) end
  table.sort(found, function(a, b) return a.key < b.key end)
  return found
end

-- By key; the limits in force; and those of them with a log.
local logs, limits, logged = {}, {}, {}

local function read_log(key)
  local l = load('l' .. key)
  return l and { total = l[1], since = l[2], mirrored = l[3], entries = l[4], full = l[5] or 0 }
end

local function filled_log(limit, kept, is_first)
  local log = { total = 0, since = is_first and meta.start or time, mirrored = 0, entries = {}, full = 0, changed = true }
  local source
  for _, key in ipairs(kept) do
    local other = limit_of(key, 1)
    if other.unit == limit.unit and other.period > 0 then
      if not source then source = other
      elseif source.period < limit.period then if other.period > source.period then source = other end
      elseif other.period >= limit.period and other.period < source.period then source = other end
    end
  end
  limit.log = log
  if not source then return log end
  local known = logs[source.key]
  local e = known.entries
  for i = 1, #e, 3 do enter(limit, e[i], e[i + 1], e[i + 2]) end
  log.since = source.period >= limit.period and known.since or max(known.since, now - source.period * 1000)
  return log
end

local function keep_logs()
  limits = limits_in_force()
  local kept, is_kept, keys, missing = {}, {}, '', false
  for _, limit in ipairs(limits) do
    if limit.period > 0 then
      logs[limit.key] = read_log(limit.key)
      is_kept[limit.key] = true
      keys, missing = keys .. ' ' .. limit.key, missing or not logs[limit.key]
    end
  end
  -- Other limits than before, or a log is missing.
  if missing or keys ~= meta.limits then
    for _, field in ipairs(call('HKEYS', S)) do
      if string.sub(field, 1, 1) == 'l' then
        local key = string.sub(field, 2)
        kept[#kept + 1] = key
        if not logs[key] then logs[key] = read_log(key) end
      end
    end
    table.sort(kept)
    local is_first = #kept == 0
    for _, limit in ipairs(limits) do
      if limit.period > 0 and not logs[limit.key] then
        logs[limit.key] = filled_log(limit, kept, is_first)
      end
    end
    for key in pairs(logs) do
      if not is_kept[key] then
        logs[key] = nil
        call('HDEL', S, 'l' .. key)
      end
    end
    meta.limits = keys
  end
  for _, limit in ipairs(limits) do
    limit.log = logs[limit.key]
    if limit.log then
      logged[#logged + 1] = limit
      expire(limit)
    end
  end
end

local function save_logs()
  for key, log in pairs(logs) do
    if log.changed then put('l' .. key, { log.total, log.since, log.mirrored, log.entries, log.full }) end
  end
end
