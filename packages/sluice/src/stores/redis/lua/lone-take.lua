-- The shortest way, for a call that is one take of one subject with one window, as every call of a service is whose
-- requests come one at a time: nothing to decode, and no table.
--
-- ARGV[5..10]   tag, amount, length (ms), start of a window (as in plain-takes.lua), cost, copies; left out for all else

-- Returns the stored value, what to write, its life (ms) if a window begins, and how many copies were granted; nil when
-- the general way has to decide.
local function lone_take()
  local byte, floor, pack, unpack_limit = string.byte, math.floor, cmsgpack.pack, cmsgpack.unpack_limit
  -- Raises an error for a key of another type.
  local value, clock_ms = call('GET', KEYS[1]), floor(clock / 1000)
  local tag, amount, length, clock_age = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
  local cost, granted = tonumber(ARGV[9]), tonumber(ARGV[10])
  if clock_age > 0 and (clock_ms < clock_age or clock_ms >= clock_age + length) then return nil end
  if clock_age >= 0 then clock_age = (clock_ms - clock_age) % length end
  --- @inline one-window.lua
  if granted <= 0 then return value, nil, nil, 0 end
  local written = string.char(EMPTY_ARRAY + ONE_WINDOW) .. pack(clock, tag, age, count + granted * cost)
  return value, written, not current and length - age, granted
end

if ARGV[10] then
  local ran, value, written, life, granted = pcall(lone_take)
  if ran and granted then
    -- One ms more, as Redis counts whole ms from before the script.
    if life then call('SET', KEYS[1], written, 'PX', life + 1)
    elseif written then call('SET', KEYS[1], written, 'KEEPTTL') end
    return cmsgpack.pack(RAN, clock, granted) .. (value or '\192')
  end
end
