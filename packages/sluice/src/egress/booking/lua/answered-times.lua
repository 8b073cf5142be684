-- When units were answered, oldest first. See answered-times.ts.

--- @const PARTS_OF_PERIOD = 16
--- @const MOST_ENTRIES = 32

local answered_at, answered_changed = {}, {}
local function entries_of(key)
  if not answered_at[key] then answered_at[key] = load('r' .. key) or {} end
  return answered_at[key]
end

local function note_answered(limit, units)
  if units <= 0 then return end
  local entries = entries_of(limit.key)
  local last = entries[#entries]
  answered_changed[limit.key] = true
  if last and now - last[1] < limit.periodMs / PARTS_OF_PERIOD then last[2] = last[2] + units
  else entries[#entries + 1] = { now, units } end
  if #entries <= MOST_ENTRIES then return end
  local oldest = table.remove(entries, 1)
  entries[1] = { oldest[1], oldest[2] + entries[1][2] }
end

local function note_undated(key, units)
  local entries = entries_of(key)
  answered_changed[key] = true
  if entries[1] and entries[1][1] == 0 then entries[1][2] = entries[1][2] + units
  else table.insert(entries, 1, { 0, units }) end
end

local function forget_answered(key, units, from_newest)
  local entries, left = entries_of(key), units
  while left > 0 and #entries > 0 do
    local at = from_newest and #entries or 1
    local taken = min(left, entries[at][2])
    left = left - taken
    entries[at][2] = entries[at][2] - taken
    answered_changed[key] = true
    if entries[at][2] <= 0 then table.remove(entries, at) end
  end
end

local function after_ms(entries, period_ms, lacking)
  local left = lacking
  if left <= 0 then return 0 end
  for _, entry in ipairs(entries) do
    left = left - entry[2]
    if left <= 0 then return max(0, entry[1] + period_ms - now) end
  end
  return period_ms
end

-- Returns least and likely.
local function back_in_ms(limit, units)
  local used, entries = count('u' .. limit.key), entries_of(limit.key)
  if units > used then return limit.periodMs, limit.periodMs end
  local in_flight = used
  for _, entry in ipairs(entries) do in_flight = in_flight - entry[2] end
  return after_ms(entries, limit.periodMs, units - max(0, in_flight)), after_ms(entries, limit.periodMs, units)
end

local function save_answered()
  for key in pairs(answered_changed) do
    put('r' .. key, next(answered_at[key]) and cmsgpack.pack(answered_at[key]))
  end
end
