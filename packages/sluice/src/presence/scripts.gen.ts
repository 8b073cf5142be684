// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
  OTHER_FORMAT: 193,
} as const

export const beat: Script = {
  name: 'beat',
  sha1: '5fb40548e7c25f0d652ffff3e4ec41573ceb2263',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local untilUs = call('ZSCORE', KEYS[1], ARGV[2])
local lives = ARGV[4] == '1' or (untilUs and tonumber(untilUs) > clock)
if lives then call('ZADD', KEYS[1], string.format('%.0f', clock + tonumber(ARGV[3])), ARGV[2]) end
local dead = call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', clock), 'LIMIT', 0, 16)
local next = call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', clock), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return cmsgpack.pack(0, clock, lives and 1 or 0, dead, tonumber(next[2] or 0))
`,
}

export const join: Script = {
  name: 'join',
  sha1: '1f6ea6d93b0c972f7aa51066bd6907a851a36cd4',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function is_later(value) return value and string.byte(value) == 193 end
local function refuse_later(key)
return redis.error_reply('FORMAT A newer version of Sluice wrote a Redis key in a format that this one does not know: ' .. key)
end
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
return cmsgpack.pack(0, clock)
`,
}

export const leave: Script = {
  name: 'leave',
  sha1: 'bc8398518ebe65e63e70505c00c0f42e2e9b6fdb',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function is_later(value) return value and string.byte(value) == 193 end
local function refuse_later(key)
return redis.error_reply('FORMAT A newer version of Sluice wrote a Redis key in a format that this one does not know: ' .. key)
end
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
for i = 4, #ARGV do remove(ARGV[i], call('HGET', KEYS[1], ARGV[i])) end
return cmsgpack.pack(0, clock)
`,
}

export const members: Script = {
  name: 'members',
  sha1: '261be64a4ce94f2c1f81e30c772a4327dbb0dbf1',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local all = ARGV[2] == '1' and call('HGETALL', KEYS[1]) or {}
return cmsgpack.pack(0, clock, call('HLEN', KEYS[1]), call('HKEYS', KEYS[2]), all)
`,
}

export const processes: Script = {
  name: 'processes',
  sha1: 'bbee11321c9bd8b0088ca1247c30231dc29c5099',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
return cmsgpack.pack(0, clock, call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', clock), '+inf'))
`,
}

export const publish: Script = {
  name: 'publish',
  sha1: '07267b7dc2b3805dde6cf01eb4bdb86a656325af',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local id = call('XADD', KEYS[1], 'MAXLEN', ARGV[4], '*', 'message', ARGV[3])
call('PEXPIRE', KEYS[1], ARGV[5])
call('PUBLISH', ARGV[2], id .. ' ' .. ARGV[3])
return cmsgpack.pack(0, clock, id)
`,
}

export const sweep: Script = {
  name: 'sweep',
  sha1: 'a1453ecc7d9ceea91cdbcd64253ef8c379f8bcba',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function is_later(value) return value and string.byte(value) == 193 end
local function refuse_later(key)
return redis.error_reply('FORMAT A newer version of Sluice wrote a Redis key in a format that this one does not know: ' .. key)
end
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
local page = call('HSCAN', KEYS[1], ARGV[4], 'COUNT', ARGV[5])
for i = 1, #page[2], 2 do remove(page[2][i], page[2][i + 1]) end
if page[1] == '0' then call('HDEL', KEYS[2], ARGV[2]) end
return cmsgpack.pack(0, clock, page[1])
`,
}
