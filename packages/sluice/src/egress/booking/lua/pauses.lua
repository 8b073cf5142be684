-- Pauses and the retry budget. See pauses.ts.

--- @const FIRST_PAUSE_MS = 1000
--- @const LONGEST_UNSAID_MS = 60000
--- @const GRAIN_MS = 1000
--- @const MOST_TOKENS = 100000

local function pause(step)
  local before = pauses[step.scope]
  local same = before and now - step.sentAgoMs <= before.started_ms
  local following = before and now < before.until_ms + LONGEST_UNSAID_MS
  if same and (step.ms < 0 or now + step.ms <= before.until_ms + GRAIN_MS) then return { 'no' } end
  local level = same and before.level or following and before.level + 1 or 0
  local unsaid = min(LONGEST_UNSAID_MS, FIRST_PAUSE_MS * 2 ^ min(level, 10))
  local wanted = step.ms >= 0 and step.ms or floor(unsaid / 2 + (unsaid / 2) * step.chance)
  local until_ms = max(before and before.until_ms or 0, now + min(step.maxMs, wanted))
  pauses[step.scope] = { started_ms = same and before.started_ms or now, until_ms = until_ms, level = level }
  return { 'paused', until_ms - now }
end

local function forget_pauses()
  for scope, p in pairs(pauses) do
    if now > p.until_ms + LONGEST_UNSAID_MS then pauses[scope] = nil end
  end
end

local function take_retry()
  local passed = max(0, now - meta.retry_ms)
  meta.retry_ms = now
  meta.tokens = min(MOST_TOKENS, meta.tokens + floor((rules.retryPerSecond * passed) / 1000))
  if meta.tokens < 1000 then return { 'no' } end
  meta.tokens = meta.tokens - 1000
  return { 'ok' }
end
