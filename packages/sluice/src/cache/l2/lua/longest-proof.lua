-- How long the longest proof (ms) holds that a reader may have. See log.lua for KEYS.
local function longest_proof()
  local longest = 0
  -- A key of another type was not written by a cache.
  for _, ms in ipairs(redis.pcall('ZRANGEBYSCORE', KEYS[4], string.format('(%.0f', clock), '+inf')) do
    longest = math.max(longest, tonumber(ms))
  end
  return longest
end

-- Records that a reader has a proof from now on. What it fetches while it has the proof is fresh for as long again. A
-- tenth more, as clocks differ in rate.
local function note_proof(ms)
  local until_us = clock + tonumber(ms) * 2200
  local removed = redis.pcall('ZREMRANGEBYSCORE', KEYS[4], '-inf', string.format('%.0f', clock))
  if type(removed) ~= 'number' then call('DEL', KEYS[4]) end
  call('ZADD', KEYS[4], string.format('%.0f', until_us), ms)
  if call('PTTL', KEYS[4]) * 1000 < until_us - clock then call('PEXPIREAT', KEYS[4], math.ceil(until_us / 1000)) end
end
