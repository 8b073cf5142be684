-- Pauses, the fleet's budget of retries, and a wider arrival. See pauses.ts.

--- @const FIRST_MS = 1000
--- @const LONGEST_UNSAID_MS = 60000
--- @const GRAIN_US = 1000000
--- @const MOST_TOKENS = 100000
--- @const WIDENED_FOR_US = 600000000
--- @const SAME_REFUSAL_US = 1000000

--- @const WRITE_BY_MS = 500

local function is_logged(step)
  if step.refused or step.scope ~= '' then return false end
  local granted = max(1, now - (step.sentAgoMs + WRITE_BY_MS) * 1000)
  for _, limit in ipairs(logged) do
    if limit.log.full >= granted and step.ms <= ceil(limit.period / 1000) * 1000 then return true end
  end
  return false
end

local function pause(step)
  if is_logged(step) then return { 'no' } end
  local before = pauses[step.scope]
  local same = before and now - step.sentAgoMs * 1000 <= before.started
  if same and (step.ms < 0 or now + step.ms * 1000 <= before.until_us + GRAIN_US) then
    if step.refused then before.refused = true end
    return { 'no' }
  end
  local level = 0
  if same then level = before.level
  elseif before and now < before.until_us + LONGEST_UNSAID_MS * 1000 and before.refused then level = before.level + 1 end
  local unsaid = min(LONGEST_UNSAID_MS, FIRST_MS * 2 ^ min(level, 10))
  local wanted = step.ms >= 0 and step.ms or min(LONGEST_UNSAID_MS, floor(unsaid + unsaid / 2 * step.chance))
  local until_us = max(before and before.until_us or 0, now + min(step.maxMs, wanted) * 1000)
  local refused = step.refused or (before ~= nil and now < before.until_us and before.refused)
  pauses[step.scope] = { started = same and before.started or now, until_us = until_us, level = level, refused = refused }
  return { 'paused', ceil((until_us - now) / 1000) }
end

local function paused_ms(scope) return max(0, ceil(((pauses[scope] and pauses[scope].until_us or 0) - now) / 1000)) end

local function forget_pauses()
  for scope, each in pairs(pauses) do
    if now > each.until_us + LONGEST_UNSAID_MS * 1000 then pauses[scope] = nil end
  end
end

local function take_retry()
  local passed = max(0, now - meta.retry)
  meta.retry = now
  meta.tokens = min(MOST_TOKENS, meta.tokens + floor(rules.retryPerSecond * passed / 1e6))
  if meta.tokens < 1000 then return { 'no' } end
  meta.tokens = meta.tokens - 1000
  return { 'ok' }
end

local function widen()
  if #logged == 0 then return { 'no' } end
  local shortest = math.huge
  for _, limit in ipairs(logged) do shortest = min(shortest, limit.period * 1000) end
  if meta.widened > 0 and now < meta.widened_until - WIDENED_FOR_US + SAME_REFUSAL_US then return { 'no' } end
  local before = now < meta.widened_until and meta.widened or 0
  meta.widened = min(floor(shortest / 4), max(floor(shortest / 20), before * 2))
  meta.widened_until = now + WIDENED_FOR_US
  return { 'ok' }
end
