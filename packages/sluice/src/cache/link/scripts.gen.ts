// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
  STORED: 0,
  GRANTED: 1,
  HELD: 2,
} as const

export const bump: Script = {
  name: 'bump',
  sha1: '8613360db047c4e186f3b5cb80af1c795b0b118e',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock) end
local function open_log(nonce, refused)
local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
local fields = call('HMGET', KEYS[1], 'generation', 'run', 'sequence', 'keyFloor', 'scopeFloor', 'keys', 'scopes')
if fields[1] and fields[1] ~= refused and fields[2] == run and tonumber(fields[6]) == call('ZCARD', KEYS[2])
and tonumber(fields[7]) == call('ZCARD', KEYS[3]) then
return {
generation = fields[1], sequence = tonumber(fields[3]),
keyFloor = tonumber(fields[4]), scopeFloor = tonumber(fields[5]),
}
end
call('DEL', KEYS[1], KEYS[2], KEYS[3])
local generation = string.format('%s-%.0f-%s', string.sub(run, 1, 8), clock, nonce)
call('HSET', KEYS[1], 'generation', generation, 'run', run, 'sequence', 0, 'keyFloor', 0, 'scopeFloor', 0,
'keys', 0, 'scopes', 0)
return { generation = generation, sequence = 0, keyFloor = 0, scopeFloor = 0 }
end
local log = open_log(ARGV[3])
local sequence = log.sequence + 1
for i = 6, #ARGV do
call('ZADD', string.sub(ARGV[i], 1, 2) == 'k:' and KEYS[2] or KEYS[3], sequence, ARGV[i])
end
local function trim(key, max, floor)
local excess = call('ZCARD', key) - tonumber(max)
if excess <= 0 then return floor end
local last = call('ZRANGE', key, excess - 1, excess - 1, 'WITHSCORES')
call('ZREMRANGEBYRANK', key, 0, excess - 1)
return math.max(floor, tonumber(last[2]))
end
local key_floor, scope_floor = trim(KEYS[2], ARGV[4], log.keyFloor), trim(KEYS[3], ARGV[5], log.scopeFloor)
call('HSET', KEYS[1], 'sequence', sequence, 'keyFloor', key_floor, 'scopeFloor', scope_floor,
'keys', call('ZCARD', KEYS[2]), 'scopes', call('ZCARD', KEYS[3]))
call('PUBLISH', ARGV[2], string.format('%s %.0f %s', log.generation, sequence, table.concat(ARGV, ' ', 6)))
return cmsgpack.pack(0, clock, log.generation, sequence)
`,
}

export const claim: Script = {
  name: 'claim',
  sha1: '037ac7bcd021cc9f41d8effd88b6581519a985d6',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock) end
local copy = redis.pcall('GET', KEYS[1])
if type(copy) == 'string' and string.sub(copy, 1, 16) ~= ARGV[4] then return cmsgpack.pack(0, clock, 0, copy) end
if call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[3]) then return cmsgpack.pack(0, clock, 1) end
return cmsgpack.pack(0, clock, 2, call('PTTL', KEYS[2]))
`,
}

export const forget: Script = {
  name: 'forget',
  sha1: 'dbf27defb830c1237de53b10234bccbce9db77b4',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock) end
call('UNLINK', unpack(KEYS))
return cmsgpack.pack(0, clock)
`,
}

export const keepClaim: Script = {
  name: 'keepClaim',
  sha1: '085c070bb8ca72250fb6503a2d02c6bc244c1859',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock) end
if call('GET', KEYS[1]) ~= ARGV[2] then return cmsgpack.pack(0, clock, 0) end
if ARGV[3] == '0' then call('DEL', KEYS[1]) else call('PEXPIRE', KEYS[1], ARGV[3]) end
return cmsgpack.pack(0, clock, 1)
`,
}

export const read: Script = {
  name: 'read',
  sha1: '9f21c29ac70e08fecd4d588bcb230b92c0729dcc',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock) end
local copies = call('MGET', unpack(KEYS))
local lengths = {}
for i = 1, #KEYS do
local copy = copies[i]
if copy then
lengths[i] = #copy
else
lengths[i] = -1
copies[i] = ''
end
end
return cmsgpack.pack(0, clock, lengths) .. table.concat(copies)
`,
}

export const store: Script = {
  name: 'store',
  sha1: '5788c7b94df12123dcdb213775549593fb8b53a6',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock) end
if ARGV[2] ~= '' then
if call('GET', KEYS[2]) ~= ARGV[2] then return cmsgpack.pack(0, clock, 0) end
else
local copy = redis.pcall('GETRANGE', KEYS[1], 16, 200)
if type(copy) == 'string' then
local generation, sequence = string.match(copy, '^%d (%S+) (%d+) ')
if generation == ARGV[5] and tonumber(sequence) > tonumber(ARGV[6]) then return cmsgpack.pack(0, clock, 0) end
end
end
call('DEL', KEYS[2])
local copy = string.format('%016.0f', clock) .. ARGV[3]
if ARGV[4] == '0' then call('SET', KEYS[1], copy) else call('SET', KEYS[1], copy, 'PX', ARGV[4]) end
return cmsgpack.pack(0, clock, 1)
`,
}

export const sync: Script = {
  name: 'sync',
  sha1: '9699d31caed14a60f1b3f9fe6c0add1dc9b2de6f',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock) end
local function open_log(nonce, refused)
local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
local fields = call('HMGET', KEYS[1], 'generation', 'run', 'sequence', 'keyFloor', 'scopeFloor', 'keys', 'scopes')
if fields[1] and fields[1] ~= refused and fields[2] == run and tonumber(fields[6]) == call('ZCARD', KEYS[2])
and tonumber(fields[7]) == call('ZCARD', KEYS[3]) then
return {
generation = fields[1], sequence = tonumber(fields[3]),
keyFloor = tonumber(fields[4]), scopeFloor = tonumber(fields[5]),
}
end
call('DEL', KEYS[1], KEYS[2], KEYS[3])
local generation = string.format('%s-%.0f-%s', string.sub(run, 1, 8), clock, nonce)
call('HSET', KEYS[1], 'generation', generation, 'run', run, 'sequence', 0, 'keyFloor', 0, 'scopeFloor', 0,
'keys', 0, 'scopes', 0)
return { generation = generation, sequence = 0, keyFloor = 0, scopeFloor = 0 }
end
local log = open_log(ARGV[4], ARGV[5])
local since = tonumber(ARGV[3])
if ARGV[2] ~= log.generation or since < log.keyFloor or since < log.scopeFloor then since = -1 end
local changes = {}
if since < log.sequence then
for _, key in ipairs({ KEYS[2], KEYS[3] }) do
local found = call('ZRANGEBYSCORE', key, '(' .. since, '+inf', 'WITHSCORES')
for i = 1, #found, 2 do
changes[#changes + 1] = found[i]
changes[#changes + 1] = tonumber(found[i + 1])
end
end
end
return cmsgpack.pack(0, clock, log.generation, log.sequence, since, log.keyFloor, log.scopeFloor, changes)
`,
}
