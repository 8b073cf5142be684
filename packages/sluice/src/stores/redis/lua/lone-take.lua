-- The fastest path, for a call that is one take of one subject with one window, which is the usual call of a service
-- whose requests come one at a time. For Redis, an argument, or parsing a number from text, costs about a quarter of a
-- command, so there are as few of both as possible, and no table is created.
--
-- ARGV[2..5]   tag, amount, length (ms), start of a window (as in plain-takes.lua)
-- ARGV[6..7]   cost, copies; may be left out when both are 1
-- ARGV[8]      the limit set as in decide.lua; only of a calendar limit, as all others follow from the numbers

-- Returns the stored value, what to write, its TTL (ms) if a window begins, how many copies were granted, and the
-- packed time; nil when the general path must decide.
local function lone_take(call, clock)
  local byte, floor, pack, unpack_limit = string.byte, math.floor, cmsgpack.pack, cmsgpack.unpack_limit
  -- Raises an error for a key of another type.
  local value, clock_ms = call('GET', KEYS[1]), floor(clock / 1000)
  -- `tonumber` would parse each text twice.
  local tag, amount, length, clock_age, cost, granted = ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0, -1, 1, 1
  if ARGV[6] then cost, granted = ARGV[6] + 0, ARGV[7] + 0 end
  if ARGV[5] ~= '-1' then
    local start = ARGV[5] + 0
    if start > 0 and (clock_ms < start or clock_ms >= start + length) then return nil end
    clock_age = (clock_ms - start) % length
  end
  --- @inline one-window.lua
  local now = pack(clock)
  if granted <= 0 then return value, nil, nil, 0, now end
  -- \148: an array of ONE_WINDOW values.
  local written = '\148' .. now .. pack(tag, age, count + granted * cost)
  return value, written, not current and length - age, granted, now
end

if ARGV[5] then
  local ran, value, written, life, granted, now = pcall(lone_take, call, clock)
  if ran and granted then
    -- One ms more, as Redis counts whole ms from before the script.
    if life then call('SET', KEYS[1], written, 'PX', life + 1)
    elseif written then call('SET', KEYS[1], written, 'KEEPTTL') end
    -- \0: RAN. Small numbers are packed as the byte of their value.
    return '\0' .. now .. (granted == 1 and '\1' or cmsgpack.pack(granted)) .. (value or '\192')
  end
end
