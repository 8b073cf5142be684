-- Claims, finishes or releases events of one producer.
--
-- KEYS[1]   the producer: a hash with `runs` (what was stored, as `first:last` of each run without gaps, in order) and
--           one field for each event that is being stored: until when its claim holds, in us
-- ARGV[1]   the deadline, see deadline.lua
-- ARGV[2]   what to do: claim, finish or release
-- ARGV[3]   how long a claim holds, in ms
-- ARGV[4]   how long the producer is remembered, in ms
-- ARGV[5]   how many runs are kept; the lowest ones are dropped
-- ARGV[6..] sequence numbers
--
-- Reply: status, time; for claim, then for each event 0 (new), 1 (being stored) or 2 (stored before).

--- @include ../../../redis/lua/deadline.lua

local key, action, hold, ttl, most = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local runs, replies = {}, {}
for first, last in string.gmatch(call('HGET', key, 'runs') or '', '(%-?%d+):(%-?%d+)') do
  runs[#runs + 1] = { tonumber(first), tonumber(last) }
end

-- The index of the last run that begins at or below a number; 0 if there is none.
local function before(seq)
  local at = #runs
  while at > 0 and runs[at][1] > seq do at = at - 1 end
  return at
end

local function has(seq)
  local run = runs[before(seq)]
  return run and seq <= run[2]
end

local function add(seq)
  local at = before(seq)
  local run, following = runs[at], runs[at + 1]
  local joins = following and following[1] == seq + 1
  if run and run[2] == seq - 1 then
    run[2] = joins and following[2] or seq
    if joins then table.remove(runs, at + 1) end
  elseif joins then
    following[1] = seq
  else
    table.insert(runs, at + 1, { seq, seq })
    if #runs > most then table.remove(runs, 1) end
  end
end

for i = 6, #ARGV do
  local seq = tonumber(ARGV[i])
  if action == 'claim' then
    local claim = call('HGET', key, ARGV[i])
    if has(seq) then
      replies[#replies + 1] = 2
    elseif claim and tonumber(claim) > clock then
      replies[#replies + 1] = 1
    else
      call('HSET', key, ARGV[i], string.format('%.0f', clock + hold * 1000))
      replies[#replies + 1] = 0
    end
  else
    call('HDEL', key, ARGV[i])
    if action == 'finish' and not has(seq) then add(seq) end
  end
end

if action == 'finish' then
  local texts = {}
  for i, run in ipairs(runs) do texts[i] = string.format('%.0f:%.0f', run[1], run[2]) end
  call('HSET', key, 'runs', table.concat(texts, ','))
end
call('PEXPIRE', key, ttl)
return cmsgpack.pack(RAN, clock, unpack(replies))
