-- Whether a call fits, and when. See capacity.ts.

--- @const HOLD_US = 1000000
--- @const RAMP_US = 4000000
--- @const RAMP_STEP_US = 100000
--- @const IN_FLIGHT_US = 10000
--- @const MOST_SILENCE_US = 3000000

local reserved = {}

local function cost_of(limit, units)
  if limit.unit == 'requests' then return 1 end
  return min(units[limit.unit] or 1, limit.amount)
end

local function used_of(limit)
  if limit.period > 0 then return limit.log and limit.log.total or 0 end
  local in_flight = 0
  for _, o in pairs(owners) do in_flight = in_flight + max(0, o.granted - o.ended) end
  return in_flight
end

local function paced_until(limit) return limit.log.since == 0 and 0 or limit.log.since + limit.counted end

local function is_ramping()
  local p = pauses['']
  return p and p.refused and now < p.until_us + RAMP_US and p
end

local function allowed(limit)
  local most = limit.amount
  if not limit.log then return most end
  local p = is_ramping()
  if p then most = max(1, floor(limit.amount * (0.25 + 0.75 * (now - p.until_us) / RAMP_US))) end
  if now >= paced_until(limit) then return most end
  if rules.afterLoss == 'wait' then return 0 end
  return min(most, max(1, floor(limit.amount * (now - limit.log.since) / limit.counted)))
end

local function closed_us() return max(0, meta.open - now, (pauses[''] and pauses[''].until_us or 0) - now) end

local function fits(units)
  if closed_us() > 0 then return false end
  for _, limit in ipairs(limits) do
    local taken, most = used_of(limit) + (reserved[limit.key] or 0), allowed(limit)
    if taken + cost_of(limit, units) > most and (taken > 0 or most <= 0) then return false end
  end
  return true
end

local function paced_in(limit, wanted)
  local left = paced_until(limit) - now
  if left <= 0 then return 0 end
  if rules.afterLoss == 'wait' then return left end
  if wanted <= 1 then return 0 end
  return max(0, limit.log.since + ceil(min(wanted, limit.amount) * limit.counted / limit.amount) - now)
end

local function turn_in(units, ahead, ahead_units, least)
  local into = closed_us()
  for _, limit in ipairs(limits) do
    local before = limit.unit == 'requests' and ahead or ahead_units[limit.unit] or 0
    local wanted = used_of(limit) + (least and 0 or reserved[limit.key] or 0) + before + cost_of(limit, units)
    if limit.log then
      into = max(into, free_in(limit, wanted - limit.amount, least), paced_in(limit, wanted))
      if not least and is_ramping() and wanted > allowed(limit) then into = max(into, RAMP_STEP_US) end
    elseif wanted > limit.amount and not least then
      into = max(into, IN_FLIGHT_US)
    end
  end
  return into
end

local function charge_of(units, weight)
  local share = 0
  for _, limit in ipairs(limits) do share = max(share, cost_of(limit, units) / limit.amount) end
  return ceil(share * 1e6 / weight)
end

local function silence()
  local shortest
  for _, limit in ipairs(rules.limits) do
    if limit.periodMs > 0 then shortest = min(shortest or math.huge, limit.periodMs) end
  end
  local counted = shortest and floor(shortest * 2001 / 2) + GUARD_US or 0
  return min(MOST_SILENCE_US, HOLD_US + rules.arrivalMs * 1000 + counted)
end
