-- Adds members of a channel, or updates their data.
--
-- KEYS[1]   a hash: member -> JSON of process -> data     KEYS[2]   a hash: process -> how many of the members are its
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the process            ARGV[3]   where to publish
-- ARGV[4..] pairs of a member and its data (JSON)
-- Reply: status, time

--- @include ../../redis/lua/deadline.lua
--- @include ../../redis/lua/format.lua

local process = ARGV[2]
for i = 4, #ARGV, 2 do
  if is_later(call('HGET', KEYS[1], ARGV[i])) then return refuse_later(KEYS[1]) end
end
for i = 4, #ARGV, 2 do
  local id, data = ARGV[i], ARGV[i + 1]
  local text = call('HGET', KEYS[1], id)
  local homes = text and cjson.decode(text) or {}
  local known, before = text and next(homes) ~= nil, homes[process]
  if before ~= data then
    homes[process] = data
    call('HSET', KEYS[1], id, cjson.encode(homes))
    if not before then call('HINCRBY', KEYS[2], process, 1) end
    call('PUBLISH', ARGV[3], cjson.encode({ type = known and 'update' or 'join', id = id, data = data }))
  end
end
return cmsgpack.pack(RAN, clock)
