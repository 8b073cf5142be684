-- The fastest path, for a call that is one take of one subject with one window, which is the usual call of a service
-- whose requests come one at a time. For Redis, an argument, or parsing a number from text, costs about a quarter of a
-- command, so there are as few of both as possible, and no table is created.
--
-- ARGV[2..3]   tag, amount
-- then, only of a calendar limit: length (ms) and start of the present period, and the limit set as in decide.lua. Of
-- other windows, the tag contains all that
-- then, unless both are 1: cost, copies

-- Returns the stored value, what to write, its TTL (ms) if a window begins, how many copies were granted, and the
-- packed time; nil when the general path must decide.
local function lone_take(call, clock)
  local byte, floor, pack, unpack_limit = string.byte, math.floor, cmsgpack.pack, cmsgpack.unpack_limit
  -- Raises an error for a key of another type.
  local value, clock_ms = call('GET', KEYS[1]), floor(clock / 1000)
  -- `tonumber` would parse each text twice.
  local tag, amount, length, clock_age, cost, granted = ARGV[2] + 0, ARGV[3] + 0, 0, -1, 1, 1
  local last = #ARGV
  if last == LONE_WITH_COST or last == CALENDAR_WITH_COST then cost, granted = ARGV[last - 1] + 0, ARGV[last] + 0 end
  if last >= LONE_CALENDAR then
    length, clock_age = ARGV[4] + 0, clock_ms - ARGV[5]
    if clock_age < 0 or clock_age >= length then return nil end
  else
    --- @inline window-of-tag.lua
    if aligned then clock_age = clock_ms % length end
  end
  --- @inline one-window.lua
  local now = pack(clock)
  if granted <= 0 then return value, nil, nil, 0, now end
  -- \148: an array of ONE_WINDOW values.
  local written = '\148' .. now .. pack(tag, age, count + granted * cost)
  return value, written, not current and length - age, granted, now
end

if #ARGV ~= BATCH_ARGUMENTS then
  local ran, value, written, life, granted, now = pcall(lone_take, call, clock)
  if ran and granted then
    -- One ms more, as Redis counts whole ms from before the script.
    if life then call('SET', KEYS[1], written, 'PX', life + 1)
    elseif written then call('SET', KEYS[1], written, 'KEEPTTL') end
    -- \0: RAN. Small numbers are packed as the byte of their value.
    return '\0' .. now .. (granted == 1 and '\1' or cmsgpack.pack(granted)) .. (value or '\192')
  end
end
