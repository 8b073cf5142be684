-- Instants at which calls may be sent, under an estimated bound. See instants.ts. Fields of the hash:
--   i             when the next instant of each limit is, and the last instant of all (us)
--   l<limit>      the instants given: at, units, at, units, ...
--   r             instants that were returned: { at, units }, in order
--   x<process>    the instants of its last exchange, by id

--- @const MOST_SINGLE = 100

local instants, instants_changed = nil, false
local function load_instants()
  if not instants then
    local i = load('i') or { {}, 0 }
    instants = { next_us = i[1], last_us = i[2], logs = {}, returned = load('r') or {} }
  end
  instants_changed = true
end

local function log_of(key)
  if not instants.logs[key] then instants.logs[key] = load('l' .. key) or {} end
  return instants.logs[key]
end

local function same_units(a, b)
  for _, limit in ipairs(limits) do
    if (a[limit.key] or 0) ~= (b[limit.key] or 0) then return false end
  end
  return true
end

local function width_us(limit) return (limit.periodMs + rules.marginMs) * 1000 end

local function amount_at(limit, at)
  local p = pauses['']
  local ended = p and at - p.until_ms * 1000 or math.huge
  if ended >= RAMP_MS * 1000 then return limit.amount end
  return max(1, floor(limit.amount * (0.25 + (0.75 * max(0, ended)) / (RAMP_MS * 1000))))
end

local function earliest_of(limit, units)
  if rules.spacing == 'even' then return instants.next_us[limit.key] or 0 end
  local width, log, kept, taken = width_us(limit), log_of(limit.key), {}, 0
  for k = 1, #log, 2 do
    if log[k] > now * 1000 - width then
      kept[#kept + 1], kept[#kept + 2] = log[k], log[k + 1]
      taken = taken + log[k + 1]
    end
  end
  instants.logs[limit.key] = kept
  local at = 0
  for k = 1, #kept, 2 do
    if taken + min(units, limit.amount) <= limit.amount then break end
    taken = taken - kept[k + 1]
    at = kept[k] + width
  end
  return at
end

local function record(limit, units, at)
  if rules.spacing == 'even' then
    instants.next_us[limit.key] = at + ceil((units * width_us(limit)) / amount_at(limit, at))
    return
  end
  local log = log_of(limit.key)
  local n = #log
  if n > 0 and limit.amount > MOST_SINGLE and at - log[n - 1] < limit.periodMs then
    log[n - 1], log[n] = at, log[n] + units
  else
    log[n + 1], log[n + 2] = at, units
  end
end

local function book_one(units, max_wait)
  for at, each in ipairs(instants.returned) do
    if same_units(each[2], units) then
      if each[1] - now * 1000 <= max_wait * 1000 then
        table.remove(instants.returned, at)
        return each[1]
      end
      break
    end
  end
  local at = max(now * 1000, (pauses[''] and pauses[''].until_ms or 0) * 1000, instants.last_us)
  for _, limit in ipairs(limits) do at = max(at, earliest_of(limit, units[limit.key] or 0)) end
  local wait = ceil((at - now * 1000) / 1000)
  if wait > max_wait then return -1 - wait end
  for _, limit in ipairs(limits) do record(limit, units[limit.key] or 0, at) end
  instants.last_us = at
  return at
end

local function book_instants(step)
  load_instants()
  local before, booked, at, kept = load('x' .. owner) or {}, {}, {}, {}
  for _, each in ipairs(instants.returned) do
    if each[1] >= now * 1000 then kept[#kept + 1] = each end
  end
  instants.returned = kept
  for k, id in ipairs(step.ids) do
    at[k] = before[id] or book_one(step.units, step.maxWaitsMs[k])
    if at[k] >= 0 then booked[id] = at[k] end
  end
  put('x' .. owner, next(booked) and cmsgpack.pack(booked))
  return { 'instants', at }
end

local function return_instant(step)
  if step.atUs < now * 1000 then return { 'no' } end
  load_instants()
  local at = #instants.returned + 1
  while at > 1 and instants.returned[at - 1][1] > step.atUs do at = at - 1 end
  table.insert(instants.returned, at, { step.atUs, step.units })
  return { 'ok' }
end

local function save_instants()
  if not instants_changed then return end
  put('i', cmsgpack.pack({ instants.next_us, instants.last_us }))
  put('r', next(instants.returned) and cmsgpack.pack(instants.returned))
  for key, log in pairs(instants.logs) do put('l' .. key, next(log) and cmsgpack.pack(log)) end
end
