-- Puts a new version of a policy in force and announces it.
--
-- KEYS[1]   the policy: a hash with `document`, `revision`, `time` and the last versions (`v:<revision>`, and `t:` with
--           their times in milliseconds). All of it is in one key, and so in one cluster slot. A plain text that an
--           operator has set there is kept as the version before.
-- ARGV[1]   the deadline, see deadline.lua
-- ARGV[2]   the document as text
-- ARGV[3]   the channel where the revision is announced
-- ARGV[4]   how many versions are kept, the new one included
-- ARGV[5]   the revision that must still be the newest, 0 for none; empty for any
--
-- Reply: status, time, and the revision as text: 1, 2, 3. After all data was lost it is 1 again, with another time.
-- Empty when another revision is the newest: then nothing was written.

--- @include ../../../../redis/lua/deadline.lua

local key, document, channel = KEYS[1], ARGV[2], ARGV[3]
local kind = call('TYPE', key).ok
if kind ~= 'hash' and kind ~= 'string' and kind ~= 'none' then
  return redis.error_reply('WRONGTYPE the key holds a ' .. kind .. ', which is no policy')
end

if ARGV[5] ~= '' then
  local newest = kind == 'hash' and tonumber(call('HGET', key, 'revision') or '') or 0
  if newest ~= tonumber(ARGV[5]) then return cmsgpack.pack(RAN, clock, '') end
end

local time = string.format('%.0f', math.floor(clock / 1000))
local revision = 1
local kept = {}
if kind == 'hash' then
  revision = (tonumber(call('HGET', key, 'revision') or '') or 0) + 1
  for _, field in ipairs(call('HKEYS', key)) do
    local number = string.match(field, '^v:(%d+)$')
    if number then kept[#kept + 1] = tonumber(number) end
  end
  table.sort(kept)
elseif kind == 'string' then
  local former = call('GET', key)
  call('DEL', key)
  call('HSET', key, 'v:1', former, 't:1', time)
  revision = 2
end
for i = 1, #kept - tonumber(ARGV[4]) + 1 do
  call('HDEL', key, string.format('v:%.0f', kept[i]), string.format('t:%.0f', kept[i]))
end

local text = string.format('%.0f', revision)
call('HSET', key, 'revision', text, 'time', time, 'document', document, 'v:' .. text, document, 't:' .. text, time)
call('PUBLISH', channel, text)
return cmsgpack.pack(RAN, clock, text)
