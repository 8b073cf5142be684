-- Whether a call fits. See capacity.ts.

local function pause_of(scope) return (pauses[scope] and pauses[scope].until_ms or 0) - now end

local function clamp_units(units)
  local clamped = {}
  for _, limit in ipairs(limits) do clamped[limit.key] = min(units[limit.key] or 0, limit.amount) end
  return clamped
end

local function allowed(limit)
  local p = limit.periodMs > 0 and pauses['']
  if not p or now >= p.until_ms + RAMP_MS then return limit.amount end
  if now < p.until_ms then return 0 end
  local share = 0.25 + (0.75 * (now - p.until_ms)) / RAMP_MS
  return max(1, floor(limit.amount * share))
end

local function fits(units)
  for _, limit in ipairs(limits) do
    local used, most = count('u' .. limit.key), allowed(limit)
    if used + (units[limit.key] or 0) > most and not (used == 0 and most > 0) then return false end
  end
  return true
end

local function spend(units)
  for key, amount in pairs(units) do add('u' .. key, amount) end
end

local function unspend(units)
  for key, amount in pairs(units) do add('u' .. key, -amount) end
end

-- Returns least and likely.
local function wait_of(units, ahead)
  local least, depth = max(0, pause_of('')), waiting()
  local likely = least
  for _, limit in ipairs(limits) do
    local queued = count('q' .. limit.key)
    local before = ahead >= depth and queued or floor((queued * ahead) / depth)
    local lacking = before + (units[limit.key] or 0) - (limit.amount - count('u' .. limit.key))
    if lacking > 0 and limit.periodMs > 0 then
      local rounds = floor((lacking - 1) / limit.amount)
      local back_least, back_likely = back_in_ms(limit, lacking - rounds * limit.amount)
      least = max(least, rounds * limit.periodMs + back_least)
      likely = max(likely, rounds * limit.periodMs + back_likely)
    end
  end
  return least, likely
end

local function charge_of(units, weight)
  local share = 0
  for _, limit in ipairs(limits) do share = max(share, (units[limit.key] or 0) / limit.amount) end
  return ceil((share * 1e6) / weight)
end
