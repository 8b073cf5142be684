// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
  LOG_MS: 604800000,
  PAGE: 1000,
  OTHER_FORMAT: 193,
  ENDED_MS: 1000,
  LOCKED: -1,
  NONE: -2,
  HELD: -3,
} as const

export const beginSet: Script = {
  name: 'beginSet',
  sha1: 'bdb611529bc9921d659e6968701a8c158664fb6b',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
call('UNLINK', KEYS[1])
call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return cmsgpack.pack(0, clock)
`,
}

export const bump: Script = {
  name: 'bump',
  sha1: 'a42a4a2af441d54004c79c90fd289f72392a7d85',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function is_later(value) return value and string.byte(value) == 193 end
local function refuse_later(key)
return redis.error_reply('FORMAT A newer version of Sluice wrote a Redis key in a format that this one does not know: ' .. key)
end
if type(redis.pcall('HGET', KEYS[1], 'format')) == 'string' then return refuse_later(KEYS[1]) end
local function keep_log()
for i = 1, 3 do call('PEXPIRE', KEYS[i], 604800000) end
end
local function forget_until(key, sequence, floor)
local old = call('ZCOUNT', key, '-inf', sequence)
if old == 0 then return floor, false end
call('ZREMRANGEBYRANK', key, 0, math.min(old, 1000) - 1)
return math.max(floor, sequence), old > 1000
end
local function begin_half(log, before)
local more_keys, more_scopes
log.keyFloor, more_keys = forget_until(KEYS[2], before, log.keyFloor)
log.scopeFloor, more_scopes = forget_until(KEYS[3], before, log.scopeFloor)
call('HSET', KEYS[1], 'keyFloor', log.keyFloor, 'scopeFloor', log.scopeFloor,
'keys', call('ZCARD', KEYS[2]), 'scopes', call('ZCARD', KEYS[3]))
if not more_keys and not more_scopes then
call('HSET', KEYS[1], 'halfSequence', log.sequence, 'halfUs', string.format('%.0f', clock))
end
keep_log()
end
local function open_log(nonce, refused)
local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
local fields = redis.pcall('HMGET', KEYS[1], 'generation', 'run', 'sequence', 'keyFloor', 'scopeFloor', 'keys',
'scopes', 'halfSequence', 'halfUs')
if fields[1] and fields[1] ~= refused and fields[2] == run and tonumber(fields[6]) == redis.pcall('ZCARD', KEYS[2])
and tonumber(fields[7]) == redis.pcall('ZCARD', KEYS[3]) and fields[9] then
local log = {
generation = fields[1], sequence = tonumber(fields[3]),
keyFloor = tonumber(fields[4]), scopeFloor = tonumber(fields[5]),
}
if clock - tonumber(fields[9]) > 604800000 * 500 then begin_half(log, tonumber(fields[8])) end
return log
end
call('DEL', KEYS[1], KEYS[2], KEYS[3])
local generation = string.format('%s-%.0f-%s', string.sub(run, 1, 8), clock, nonce)
call('HSET', KEYS[1], 'generation', generation, 'run', run, 'sequence', 0, 'keyFloor', 0, 'scopeFloor', 0,
'keys', 0, 'scopes', 0, 'halfSequence', 0, 'halfUs', string.format('%.0f', clock))
keep_log()
return { generation = generation, sequence = 0, keyFloor = 0, scopeFloor = 0 }
end
local function trim(key, max, floor)
local excess = call('ZCARD', key) - tonumber(max)
if excess <= 0 then return floor end
local last = call('ZRANGE', key, excess - 1, excess - 1, 'WITHSCORES')
call('ZREMRANGEBYRANK', key, 0, excess - 1)
return math.max(floor, tonumber(last[2]))
end
local function note(log, scopes, max_keys, max_scopes, channel)
local sequence = log.sequence + 1
for _, scope in ipairs(scopes) do
call('ZADD', string.sub(scope, 1, 2) == 'k:' and KEYS[2] or KEYS[3], sequence, scope)
end
local key_floor, scope_floor = trim(KEYS[2], max_keys, log.keyFloor), trim(KEYS[3], max_scopes, log.scopeFloor)
call('HSET', KEYS[1], 'sequence', sequence, 'keyFloor', key_floor, 'scopeFloor', scope_floor,
'keys', call('ZCARD', KEYS[2]), 'scopes', call('ZCARD', KEYS[3]))
keep_log()
call('PUBLISH', channel, string.format('%s %.0f %s', log.generation, sequence, table.concat(scopes, ' ')))
return sequence
end
local function longest_proof()
local longest = 0
for _, ms in ipairs(redis.pcall('ZRANGEBYSCORE', KEYS[4], string.format('(%.0f', clock), '+inf')) do
longest = math.max(longest, tonumber(ms))
end
return longest
end
local function note_proof(ms)
local until_us = clock + tonumber(ms) * 2200
local removed = redis.pcall('ZREMRANGEBYSCORE', KEYS[4], '-inf', string.format('%.0f', clock))
if type(removed) ~= 'number' then call('DEL', KEYS[4]) end
call('ZADD', KEYS[4], string.format('%.0f', until_us), ms)
if call('PTTL', KEYS[4]) * 1000 < until_us - clock then call('PEXPIREAT', KEYS[4], math.ceil(until_us / 1000)) end
end
local scopes = {}
for i = 6, #ARGV do scopes[i - 5] = ARGV[i] end
local log = open_log(ARGV[3])
local sequence = note(log, scopes, ARGV[4], ARGV[5], ARGV[2])
return cmsgpack.pack(0, clock, log.generation, sequence, longest_proof())
`,
}

export const endSet: Script = {
  name: 'endSet',
  sha1: '4f93d71740522d2a35ba00488eccfbe82c3f4bb1',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function holder_of(lock)
local token = call('GET', lock)
if token and string.sub(token, -1) == '+' then return string.sub(token, 1, -2), true end
return token, false
end
local function unlock(lock, awaited, channel, value)
call('DEL', lock)
if awaited then call('PUBLISH', channel, 'filled ' .. value) end
end
local dated = string.rep(string.format('%016.0f', clock), 2)
local token, awaited = holder_of(KEYS[2])
if token ~= ARGV[2] then
if token == 'set.ended' then unlock(KEYS[2], awaited, ARGV[3], KEYS[1]) end
local copy = redis.pcall('GETRANGE', KEYS[1], 32, 232)
if type(copy) == 'string' then
local generation, sequence = string.match(copy, '^%d (%S+) (%d+) ')
if generation ~= ARGV[6] or tonumber(sequence) < tonumber(ARGV[7]) then call('UNLINK', KEYS[1]) end
end
return cmsgpack.pack(0, clock, 0)
end
local copy = dated .. ARGV[4]
if ARGV[5] == '0' then call('SET', KEYS[1], copy) else call('SET', KEYS[1], copy, 'PX', ARGV[5]) end
unlock(KEYS[2], awaited, ARGV[3], KEYS[1])
return cmsgpack.pack(0, clock, 1)
`,
}

export const forget: Script = {
  name: 'forget',
  sha1: '4c6f94063d001e9e47061f17a876421594ef6935',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local locks = {}
for i = 2, #KEYS, 2 do locks[i / 2] = KEYS[i] end
local tokens = call('MGET', unpack(locks))
call('UNLINK', unpack(KEYS))
for i, token in ipairs(tokens) do
if token and string.sub(token, 1, 4) == 'set.' then call('SET', locks[i], 'set.ended', 'PX', 1000) end
end
return cmsgpack.pack(0, clock)
`,
}

export const keepLock: Script = {
  name: 'keepLock',
  sha1: '5f50090cf98ff4524a19f226424c1ef23411b330',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function holder_of(lock)
local token = call('GET', lock)
if token and string.sub(token, -1) == '+' then return string.sub(token, 1, -2), true end
return token, false
end
local function unlock(lock, awaited, channel, value)
call('DEL', lock)
if awaited then call('PUBLISH', channel, 'filled ' .. value) end
end
local token, awaited = holder_of(KEYS[1])
if token ~= ARGV[2] then return cmsgpack.pack(0, clock, 0) end
if ARGV[3] == '0' then unlock(KEYS[1], awaited, ARGV[4], ARGV[5]) else call('PEXPIRE', KEYS[1], ARGV[3]) end
return cmsgpack.pack(0, clock, 1)
`,
}

export const lookUp: Script = {
  name: 'lookUp',
  sha1: '5411c5171d73321f090319ecb0b6e8cf1364b6c3',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local results, copies = {}, {}
for i = 1, #KEYS, 2 do
local at = (i + 1) / 2
local rejected = ARGV[at + 3]
local copy = redis.pcall('GET', KEYS[i])
if type(copy) == 'string' and string.sub(copy, 1, 16) ~= rejected then
results[at] = #copy
copies[#copies + 1] = copy
elseif rejected == '-' then
results[at] = -2
elseif call('SET', KEYS[i + 1], ARGV[2], 'NX', 'PX', ARGV[3])
or call('PTTL', KEYS[i + 1]) == -1 and call('SET', KEYS[i + 1], ARGV[2], 'PX', ARGV[3]) then
results[at] = -1
else
results[at] = -3 - math.max(0, call('PTTL', KEYS[i + 1]))
local token = redis.pcall('GET', KEYS[i + 1])
if type(token) == 'string' and string.sub(token, -1) ~= '+' then call('APPEND', KEYS[i + 1], '+') end
end
end
return cmsgpack.pack(0, clock, results) .. table.concat(copies)
`,
}

export const set: Script = {
  name: 'set',
  sha1: 'c696466ad4f7a5a453a7e33175d019a74e69bb1c',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function is_later(value) return value and string.byte(value) == 193 end
local function refuse_later(key)
return redis.error_reply('FORMAT A newer version of Sluice wrote a Redis key in a format that this one does not know: ' .. key)
end
if type(redis.pcall('HGET', KEYS[1], 'format')) == 'string' then return refuse_later(KEYS[1]) end
local function keep_log()
for i = 1, 3 do call('PEXPIRE', KEYS[i], 604800000) end
end
local function forget_until(key, sequence, floor)
local old = call('ZCOUNT', key, '-inf', sequence)
if old == 0 then return floor, false end
call('ZREMRANGEBYRANK', key, 0, math.min(old, 1000) - 1)
return math.max(floor, sequence), old > 1000
end
local function begin_half(log, before)
local more_keys, more_scopes
log.keyFloor, more_keys = forget_until(KEYS[2], before, log.keyFloor)
log.scopeFloor, more_scopes = forget_until(KEYS[3], before, log.scopeFloor)
call('HSET', KEYS[1], 'keyFloor', log.keyFloor, 'scopeFloor', log.scopeFloor,
'keys', call('ZCARD', KEYS[2]), 'scopes', call('ZCARD', KEYS[3]))
if not more_keys and not more_scopes then
call('HSET', KEYS[1], 'halfSequence', log.sequence, 'halfUs', string.format('%.0f', clock))
end
keep_log()
end
local function open_log(nonce, refused)
local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
local fields = redis.pcall('HMGET', KEYS[1], 'generation', 'run', 'sequence', 'keyFloor', 'scopeFloor', 'keys',
'scopes', 'halfSequence', 'halfUs')
if fields[1] and fields[1] ~= refused and fields[2] == run and tonumber(fields[6]) == redis.pcall('ZCARD', KEYS[2])
and tonumber(fields[7]) == redis.pcall('ZCARD', KEYS[3]) and fields[9] then
local log = {
generation = fields[1], sequence = tonumber(fields[3]),
keyFloor = tonumber(fields[4]), scopeFloor = tonumber(fields[5]),
}
if clock - tonumber(fields[9]) > 604800000 * 500 then begin_half(log, tonumber(fields[8])) end
return log
end
call('DEL', KEYS[1], KEYS[2], KEYS[3])
local generation = string.format('%s-%.0f-%s', string.sub(run, 1, 8), clock, nonce)
call('HSET', KEYS[1], 'generation', generation, 'run', run, 'sequence', 0, 'keyFloor', 0, 'scopeFloor', 0,
'keys', 0, 'scopes', 0, 'halfSequence', 0, 'halfUs', string.format('%.0f', clock))
keep_log()
return { generation = generation, sequence = 0, keyFloor = 0, scopeFloor = 0 }
end
local function trim(key, max, floor)
local excess = call('ZCARD', key) - tonumber(max)
if excess <= 0 then return floor end
local last = call('ZRANGE', key, excess - 1, excess - 1, 'WITHSCORES')
call('ZREMRANGEBYRANK', key, 0, excess - 1)
return math.max(floor, tonumber(last[2]))
end
local function note(log, scopes, max_keys, max_scopes, channel)
local sequence = log.sequence + 1
for _, scope in ipairs(scopes) do
call('ZADD', string.sub(scope, 1, 2) == 'k:' and KEYS[2] or KEYS[3], sequence, scope)
end
local key_floor, scope_floor = trim(KEYS[2], max_keys, log.keyFloor), trim(KEYS[3], max_scopes, log.scopeFloor)
call('HSET', KEYS[1], 'sequence', sequence, 'keyFloor', key_floor, 'scopeFloor', scope_floor,
'keys', call('ZCARD', KEYS[2]), 'scopes', call('ZCARD', KEYS[3]))
keep_log()
call('PUBLISH', channel, string.format('%s %.0f %s', log.generation, sequence, table.concat(scopes, ' ')))
return sequence
end
local dated = string.rep(string.format('%016.0f', clock), 2)
local scopes = {}
for i = 6, #ARGV, 3 do scopes[i / 3 - 1] = ARGV[i] end
local log = open_log(ARGV[3])
local sequence = note(log, scopes, ARGV[4], ARGV[5], ARGV[2])
local stamp = string.format('%s %.0f %.0f', log.generation, sequence, sequence)
for i = 1, #scopes do
local value, lock, copy, keep_ms = KEYS[3 + i * 2], KEYS[4 + i * 2], ARGV[4 + i * 3], ARGV[5 + i * 3]
local stored = dated .. string.sub(copy, 1, 2) .. stamp .. string.sub(copy, 8)
call('DEL', lock)
if keep_ms == '0' then call('SET', value, stored) else call('SET', value, stored, 'PX', keep_ms) end
end
return cmsgpack.pack(0, clock, log.generation, sequence)
`,
}

export const store: Script = {
  name: 'store',
  sha1: 'ae6f6a6e7aa4b817d4dec0d6871cb7ff5b3838c7',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function holder_of(lock)
local token = call('GET', lock)
if token and string.sub(token, -1) == '+' then return string.sub(token, 1, -2), true end
return token, false
end
local function unlock(lock, awaited, channel, value)
call('DEL', lock)
if awaited then call('PUBLISH', channel, 'filled ' .. value) end
end
local dated = string.rep(string.format('%016.0f', clock), 2)
local stored = {}
for i = 1, #KEYS, 2 do
local at = (i + 1) / 2
local token, awaited = holder_of(KEYS[i + 1])
if token == ARGV[at * 3] then
local copy, keep_ms = dated .. ARGV[at * 3 + 1], ARGV[at * 3 + 2]
if keep_ms == '0' then call('SET', KEYS[i], copy) else call('SET', KEYS[i], copy, 'PX', keep_ms) end
unlock(KEYS[i + 1], awaited, ARGV[2], KEYS[i])
stored[at] = 1
else
stored[at] = 0
end
end
return cmsgpack.pack(0, clock, stored)
`,
}

export const sync: Script = {
  name: 'sync',
  sha1: '5f6ed1947dd74983ac0d25e3da7fdfa9c566bc74',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function is_later(value) return value and string.byte(value) == 193 end
local function refuse_later(key)
return redis.error_reply('FORMAT A newer version of Sluice wrote a Redis key in a format that this one does not know: ' .. key)
end
if type(redis.pcall('HGET', KEYS[1], 'format')) == 'string' then return refuse_later(KEYS[1]) end
local function keep_log()
for i = 1, 3 do call('PEXPIRE', KEYS[i], 604800000) end
end
local function forget_until(key, sequence, floor)
local old = call('ZCOUNT', key, '-inf', sequence)
if old == 0 then return floor, false end
call('ZREMRANGEBYRANK', key, 0, math.min(old, 1000) - 1)
return math.max(floor, sequence), old > 1000
end
local function begin_half(log, before)
local more_keys, more_scopes
log.keyFloor, more_keys = forget_until(KEYS[2], before, log.keyFloor)
log.scopeFloor, more_scopes = forget_until(KEYS[3], before, log.scopeFloor)
call('HSET', KEYS[1], 'keyFloor', log.keyFloor, 'scopeFloor', log.scopeFloor,
'keys', call('ZCARD', KEYS[2]), 'scopes', call('ZCARD', KEYS[3]))
if not more_keys and not more_scopes then
call('HSET', KEYS[1], 'halfSequence', log.sequence, 'halfUs', string.format('%.0f', clock))
end
keep_log()
end
local function open_log(nonce, refused)
local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
local fields = redis.pcall('HMGET', KEYS[1], 'generation', 'run', 'sequence', 'keyFloor', 'scopeFloor', 'keys',
'scopes', 'halfSequence', 'halfUs')
if fields[1] and fields[1] ~= refused and fields[2] == run and tonumber(fields[6]) == redis.pcall('ZCARD', KEYS[2])
and tonumber(fields[7]) == redis.pcall('ZCARD', KEYS[3]) and fields[9] then
local log = {
generation = fields[1], sequence = tonumber(fields[3]),
keyFloor = tonumber(fields[4]), scopeFloor = tonumber(fields[5]),
}
if clock - tonumber(fields[9]) > 604800000 * 500 then begin_half(log, tonumber(fields[8])) end
return log
end
call('DEL', KEYS[1], KEYS[2], KEYS[3])
local generation = string.format('%s-%.0f-%s', string.sub(run, 1, 8), clock, nonce)
call('HSET', KEYS[1], 'generation', generation, 'run', run, 'sequence', 0, 'keyFloor', 0, 'scopeFloor', 0,
'keys', 0, 'scopes', 0, 'halfSequence', 0, 'halfUs', string.format('%.0f', clock))
keep_log()
return { generation = generation, sequence = 0, keyFloor = 0, scopeFloor = 0 }
end
local function longest_proof()
local longest = 0
for _, ms in ipairs(redis.pcall('ZRANGEBYSCORE', KEYS[4], string.format('(%.0f', clock), '+inf')) do
longest = math.max(longest, tonumber(ms))
end
return longest
end
local function note_proof(ms)
local until_us = clock + tonumber(ms) * 2200
local removed = redis.pcall('ZREMRANGEBYSCORE', KEYS[4], '-inf', string.format('%.0f', clock))
if type(removed) ~= 'number' then call('DEL', KEYS[4]) end
call('ZADD', KEYS[4], string.format('%.0f', until_us), ms)
if call('PTTL', KEYS[4]) * 1000 < until_us - clock then call('PEXPIREAT', KEYS[4], math.ceil(until_us / 1000)) end
end
local log = open_log(ARGV[4], ARGV[5])
note_proof(ARGV[6])
local is_known = ARGV[2] == log.generation
local since = is_known and tonumber(ARGV[3]) or 0
local upto = log.sequence
if since < upto then
for i = 2, 3 do
local last = call('ZRANGEBYSCORE', KEYS[i], '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', 1000 - 1, 1)
if last[2] then upto = math.min(upto, tonumber(last[2])) end
end
end
local changes = {}
for i = 2, 3 do
local found = since < upto and call('ZRANGEBYSCORE', KEYS[i], '(' .. since, upto, 'WITHSCORES') or {}
for at = 1, #found, 2 do
changes[#changes + 1] = found[at]
changes[#changes + 1] = tonumber(found[at + 1])
end
end
local is_last = upto == log.sequence and 1 or 0
return cmsgpack.pack(0, clock, log.generation, upto, is_last, is_known and since or -1, log.keyFloor,
log.scopeFloor, changes)
`,
}
