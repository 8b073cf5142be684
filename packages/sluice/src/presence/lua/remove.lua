--- @include ../../redis/lua/format.lua

-- Removes the process ARGV[2] from the record of a member; a member in no other process has left. A record of a later
-- format is left to those who know it.
local function remove(id, text)
  if is_later(text) then return end
  local homes = text and cjson.decode(text)
  if not homes or not homes[ARGV[2]] then return end
  local data = homes[ARGV[2]]
  homes[ARGV[2]] = nil
  if call('HINCRBY', KEYS[2], ARGV[2], -1) <= 0 then call('HDEL', KEYS[2], ARGV[2]) end
  if next(homes) then
    call('HSET', KEYS[1], id, cjson.encode(homes))
  else
    call('HDEL', KEYS[1], id)
    call('PUBLISH', ARGV[3], cjson.encode({ type = 'leave', id = id, data = data }))
  end
end
