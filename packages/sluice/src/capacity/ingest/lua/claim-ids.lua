-- Claims, finishes or releases events of one producer.
--
-- KEYS[1]   the producer: a hash with `first` and `last` (everything between was taken in) and one field for each other
-- event: 'done', or
--           until when its claim holds, in us
-- ARGV[1]   the deadline, see deadline.lua
-- ARGV[2]   what to do: claim, finish or release
-- ARGV[3]   how long a claim holds, in ms
-- ARGV[4]   how long the producer is remembered, in ms
-- ARGV[5..] sequence numbers
--
-- Reply: status, time; for claim, then for each event 0 (new), 1 (being taken in) or 2 (taken in before).

--- @include ../../../redis/lua/deadline.lua

local key, action, hold, ttl = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local bounds = call('HMGET', key, 'first', 'last')
local first, last = tonumber(bounds[1] or ''), tonumber(bounds[2] or '')
local replies = {}

for i = 5, #ARGV do
  local seq = tonumber(ARGV[i])
  if not first then
    first, last = seq, seq - 1
  end
  local within = seq >= first and seq <= last
  local state = within and 'done' or call('HGET', key, ARGV[i])
  if action == 'claim' then
    if state == 'done' then
      replies[#replies + 1] = 2
    elseif state and tonumber(state) > clock then
      replies[#replies + 1] = 1
    else
      call('HSET', key, ARGV[i], string.format('%.0f', clock + hold * 1000))
      replies[#replies + 1] = 0
    end
  elseif action == 'finish' then
    if not within then call('HSET', key, ARGV[i], 'done') end
    local following = string.format('%.0f', last + 1)
    while call('HGET', key, following) == 'done' do
      call('HDEL', key, following)
      last = last + 1
      following = string.format('%.0f', last + 1)
    end
  elseif state and state ~= 'done' then
    call('HDEL', key, ARGV[i])
  end
end

call('HSET', key, 'first', string.format('%.0f', first), 'last', string.format('%.0f', last))
call('PEXPIRE', key, ttl)
return cmsgpack.pack(RAN, clock, unpack(replies))
