-- The fill lock of a key: its value is the token of the holder, with a + after it once another process waits.

-- Returns the token of the holder, false for none, and whether another process waits.
local function holder_of(lock)
  local token = call('GET', lock)
  if token and string.sub(token, -1) == '+' then return string.sub(token, 1, -2), true end
  return token, false
end

-- Ends the lock and wakes those who wait. `value` is the key of the value.
local function unlock(lock, awaited, channel, value)
  call('DEL', lock)
  if awaited then call('PUBLISH', channel, 'filled ' .. value) end
end
