// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
  OTHER_FORMAT: 193,
  GONE_US: 3000000,
  GUARD_US: 2000,
  UNVERIFIED_US: 1500000,
  EXACT_AMOUNT: 64,
  PARTS_OF_PERIOD: 128,
  STATED_US: 10000000,
  HOLD_US: 1000000,
  RAMP_US: 4000000,
  RAMP_STEP_US: 100000,
  IN_FLIGHT_US: 10000,
  MOST_SILENCE_US: 3000000,
  FIRST_MS: 1000,
  LONGEST_UNSAID_MS: 60000,
  GRAIN_US: 1000000,
  MOST_TOKENS: 100000,
  WIDENED_FOR_US: 600000000,
  SAME_REFUSAL_US: 1000000,
  WRITE_BY_MS: 500,
  MOST_LOOKED: 64,
  ORDER_FROM: 4000000000000000,
  SLACK_US: 500000,
  MIRROR_LASTS_US: 4000000,
  CLAIM_US: 25000,
  SILENT_US: 2000000,
  MOST_TURNS: 128,
  MOST_SHOWN: 1000,
} as const

export const exchange: Script = {
  name: 'exchange',
  sha1: 'a21e8e0097b4f5687c44cc88d38acfa13d07e704',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function is_later(value) return value and string.byte(value) == 193 end
local function refuse_later(key)
return redis.error_reply('FORMAT A newer version of Sluice wrote a Redis key in a format that this one does not know: ' .. key)
end
local S, Q = KEYS[1], KEYS[2]
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local asked = cjson.decode(ARGV[2])
local owner, rules = asked.owner, asked.rules
local function load(field)
local packed = call('HGET', S, field)
return packed and cmsgpack.unpack(packed) or nil
end
local function put(field, value)
if value then call('HSET', S, field, cmsgpack.pack(value)) else call('HDEL', S, field) end
end
local function whole(number) return string.format('%.0f', number) end
local META = {
'run', 'marker', 'time', 'verified', 'offset', 'epoch', 'raw', 'wall', 'start', 'open', 'seq', 'numbers', 'long',
'widened', 'widened_until', 'tokens', 'retry', 'waiting', 'tenants', 'virtual', 'limits', 'lost',
}
local meta, is_new, has_state = {}, false, false
if is_later(call('HGET', S, 'm')) then return refuse_later(S) end
do
local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
local m = load('m')
has_state = m ~= nil
if m then for at, name in ipairs(META) do meta[name] = m[at] end end
if meta.run ~= run then
is_new = true
meta.kept = m and meta.time or 0
if not m then meta = { kept = 0, time = clock, verified = clock, offset = 0, lost = 0, epoch = 0, raw = clock, wall = asked.wallMs } end
meta.run, meta.marker = run, string.sub(run, 1, 6) .. string.format('%x', floor(clock / 1000))
for _, name in ipairs({ 'seq', 'numbers', 'long', 'widened', 'widened_until', 'tokens', 'waiting', 'tenants', 'virtual', 'limits' }) do meta[name] = 0 end
end
end
local owners, pauses, due, queued = load('O') or {}, load('p') or {}, load('D') or {}, load('u') or {}
local grants_of, grants_changed = {}, {}
local function grants(process)
if not grants_of[process] then grants_of[process] = load('g' .. process) or {} end
return grants_of[process]
end
local function save()
local m = {}
for at, name in ipairs(META) do m[at] = meta[name] end
call('HSET', S, 'm', cmsgpack.pack(m), 'O', cmsgpack.pack(owners), 'D', cmsgpack.pack(due), 'u', cmsgpack.pack(queued))
put('p', next(pauses) and pauses)
for process in pairs(grants_changed) do put('g' .. process, next(grants_of[process]) and grants_of[process]) end
end
if is_new then
for _, field in ipairs(call('HKEYS', S)) do
local kind = string.sub(field, 1, 1)
if kind ~= 'l' and kind ~= 'p' and kind ~= 'g' then call('HDEL', S, field) end
end
due, queued = {}, {}
for _, o in pairs(owners) do o.gone = true end
end
local function forget_unverified()
meta.time = meta.verified
meta.offset = meta.time - clock
meta.epoch = meta.epoch + 1
end
local function resume()
local passed = max(0, min(clock - meta.raw, (asked.wallMs - meta.wall) * 1000))
meta.verified = max(meta.verified, min(meta.time, meta.verified + passed))
forget_unverified()
meta.raw, meta.wall = clock, asked.wallMs
end
local function has_living()
for _, o in pairs(owners) do if not o.gone then return true end end
return false
end
local was_set_back = false
do
local epoch, lost_us, jump = asked.epoch, asked.lostUs, asked.jump
local known = asked.marker == meta.marker and asked.expectUs >= 0
if known and jump and jump.offsetUs == meta.offset then
was_set_back = true
meta.offset = meta.offset - jump.us
if jump.isGain then meta.epoch, epoch = meta.epoch + 1, epoch + 1
else meta.lost, lost_us = meta.lost + jump.us, lost_us + jump.us end
meta.time = max(clock + meta.offset, meta.verified)
end
local lost = clock + meta.offset < meta.time
meta.time = clock + meta.offset
local current = known and epoch == meta.epoch and not lost
local expect = asked.expectUs - (meta.lost - lost_us)
if current and expect <= meta.time + 2000 then
meta.verified = max(meta.verified, min(meta.time, expect))
meta.raw, meta.wall = clock, asked.wallMs
elseif not has_living() or clock - meta.raw > 1500000 then resume()
elseif lost or current or not known then forget_unverified() end
end
local now, time = meta.verified, meta.time
local function limit_of(key, amount)
local unit, period = string.match(key, '^(.*)/(%d+)$')
period = tonumber(period or 0)
local width = amount > 64 and max(1, floor(period * 1000 / 128)) or 1
return { key = key, unit = unit or 'requests', period = period, amount = amount, width = width, counted = floor(period * 2001 / 2) + 2000 }
end
local function entry_of(limit, at) return ceil(at / limit.width) * limit.width end
local function enter(limit, at, units, least)
if units <= 0 then return end
local log = limit.log
local arrives, e = entry_of(limit, at), log.entries
local to = #e + 1
while to > 1 and e[to - 3] > arrives do to = to - 3 end
log.total, log.changed, log.frees = log.total + units, true, nil
if least >= at then least = arrives end
if e[to - 3] == arrives then
e[to - 2], e[to - 1] = e[to - 2] + units, min(e[to - 1], least)
return
end
for from = #e, to, -1 do e[from + 3] = e[from] end
e[to], e[to + 1], e[to + 2] = arrives, units, least
end
local function remove_at(e, at)
for to = at, #e do e[to] = e[to + 3] end
end
local function take_out(limit, at, units)
local log = limit.log
local arrives, e = entry_of(limit, at), log.entries
for i = #e - 2, 1, -3 do
if e[i] == arrives then
local taken = min(units, e[i + 1])
e[i + 1], log.total, log.changed, log.frees = e[i + 1] - taken, log.total - taken, true, nil
if e[i + 1] == 0 then remove_at(e, i) end
return taken
end
end
return 0
end
local function expire(limit)
local log, past, gone = limit.log, now - limit.counted, 0
local e = log.entries
while e[gone + 1] and e[gone + 1] <= past do
log.total = log.total - e[gone + 2]
gone = gone + 3
end
if gone == 0 then return end
log.changed, log.frees = true, nil
local size = #e
for at = 1, size do e[at] = e[at + gone] end
end
local function cut_log(limit, latest)
local log, e, late = limit.log, limit.log.entries, {}
while #e > 0 and e[#e - 2] > latest do
late[#late + 1] = { e[#e - 1], e[#e] }
log.total = log.total - e[#e - 1]
e[#e], e[#e - 1], e[#e - 2] = nil, nil, nil
end
for i = #late, 1, -1 do enter(limit, latest, late[i][1], late[i][2]) end
end
local function frees_of(log)
local frees, e, sum = {}, log.entries, 0
for i = 1, #e, 3 do frees[#frees + 1] = { e[i + 2], e[i + 1], e[i + 2] < e[i] } end
table.sort(frees, function(a, b) return a[1] < b[1] end)
for _, free in ipairs(frees) do
sum = sum + free[2]
free[4] = sum
end
return frees
end
local function free_in(limit, units, give_back)
if units <= 0 then return 0 end
local log = limit.log
local rounds = floor((units - 1) / limit.amount)
local left, into = units - rounds * limit.amount, limit.counted
log.frees = log.frees or frees_of(log)
local frees, low, high = log.frees, 1, #log.frees
if give_back then
for _, free in ipairs(frees) do if free[3] then left = left - free[2] end end
if left <= 0 then return rounds * limit.counted end
for _, free in ipairs(frees) do
if not free[3] then
left = left - free[2]
if left <= 0 then return rounds * limit.counted + max(0, free[1] + limit.counted - now) end
end
end
return rounds * limit.counted + into
end
while low <= high do
local middle = floor((low + high) / 2)
if frees[middle][4] >= left then high = middle - 1 else low = middle + 1 end
end
if frees[low] then into = max(0, frees[low][1] + limit.counted - now) end
return rounds * limit.counted + into
end
local function limits_in_force()
local strictest, found = {}, {}
for _, o in pairs(owners) do
for _, each in ipairs(now - o.seen < 10000000 and o.limits or {}) do
strictest[each.key] = min(strictest[each.key] or math.huge, each.amount)
end
end
for key, amount in pairs(strictest) do found[#found + 1] = limit_of(key, amount) end
table.sort(found, function(a, b) return a.key < b.key end)
return found
end
local logs, limits, logged = {}, {}, {}
local function read_log(key)
local l = load('l' .. key)
return l and { total = l[1], since = l[2], mirrored = l[3], entries = l[4], full = l[5] or 0 }
end
local function filled_log(limit, kept, is_first)
local log = { total = 0, since = is_first and meta.start or time, mirrored = 0, entries = {}, full = 0, changed = true }
local source
for _, key in ipairs(kept) do
local other = limit_of(key, 1)
if other.unit == limit.unit and other.period > 0 then
if not source then source = other
elseif source.period < limit.period then if other.period > source.period then source = other end
elseif other.period >= limit.period and other.period < source.period then source = other end
end
end
limit.log = log
if not source then return log end
local known = logs[source.key]
local e = known.entries
for i = 1, #e, 3 do enter(limit, e[i], e[i + 1], e[i + 2]) end
log.since = source.period >= limit.period and known.since or max(known.since, now - source.period * 1000)
return log
end
local function keep_logs()
limits = limits_in_force()
local kept, is_kept, keys, missing = {}, {}, '', false
for _, limit in ipairs(limits) do
if limit.period > 0 then
logs[limit.key] = read_log(limit.key)
is_kept[limit.key] = true
keys, missing = keys .. ' ' .. limit.key, missing or not logs[limit.key]
end
end
if missing or keys ~= meta.limits then
for _, field in ipairs(call('HKEYS', S)) do
if string.sub(field, 1, 1) == 'l' then
local key = string.sub(field, 2)
kept[#kept + 1] = key
if not logs[key] then logs[key] = read_log(key) end
end
end
table.sort(kept)
local is_first = #kept == 0
for _, limit in ipairs(limits) do
if limit.period > 0 and not logs[limit.key] then
logs[limit.key] = filled_log(limit, kept, is_first)
end
end
for key in pairs(logs) do
if not is_kept[key] then
logs[key] = nil
call('HDEL', S, 'l' .. key)
end
end
meta.limits = keys
end
for _, limit in ipairs(limits) do
limit.log = logs[limit.key]
if limit.log then
logged[#logged + 1] = limit
expire(limit)
end
end
end
local function save_logs()
for key, log in pairs(logs) do
if log.changed then put('l' .. key, { log.total, log.since, log.mirrored, log.entries, log.full }) end
end
end
local reserved = {}
local function cost_of(limit, units)
if limit.unit == 'requests' then return 1 end
return min(units[limit.unit] or 1, limit.amount)
end
local function used_of(limit)
if limit.period > 0 then return limit.log and limit.log.total or 0 end
local in_flight = 0
for _, o in pairs(owners) do in_flight = in_flight + max(0, o.granted - o.ended) end
return in_flight
end
local function paced_until(limit) return limit.log.since == 0 and 0 or limit.log.since + limit.counted end
local function is_ramping()
local p = pauses['']
return p and p.refused and now < p.until_us + 4000000 and p
end
local function allowed(limit)
local most = limit.amount
if not limit.log then return most end
local p = is_ramping()
if p then most = max(1, floor(limit.amount * (0.25 + 0.75 * (now - p.until_us) / 4000000))) end
if now >= paced_until(limit) then return most end
if rules.afterLoss == 'wait' then return 0 end
return min(most, max(1, floor(limit.amount * (now - limit.log.since) / limit.counted)))
end
local function closed_us() return max(0, meta.open - now, (pauses[''] and pauses[''].until_us or 0) - now) end
local function fits(units)
if closed_us() > 0 then return false end
for _, limit in ipairs(limits) do
local taken, most = used_of(limit) + (reserved[limit.key] or 0), allowed(limit)
if taken + cost_of(limit, units) > most and (taken > 0 or most <= 0) then return false end
end
return true
end
local function paced_in(limit, wanted)
local left = paced_until(limit) - now
if left <= 0 then return 0 end
if rules.afterLoss == 'wait' then return left end
if wanted <= 1 then return 0 end
return max(0, limit.log.since + ceil(min(wanted, limit.amount) * limit.counted / limit.amount) - now)
end
local function turn_in(units, ahead, ahead_units, least)
local into = closed_us()
for _, limit in ipairs(limits) do
local before = limit.unit == 'requests' and ahead or ahead_units[limit.unit] or 0
local wanted = used_of(limit) + (least and 0 or reserved[limit.key] or 0) + before + cost_of(limit, units)
if limit.log then
into = max(into, free_in(limit, wanted - limit.amount, least), paced_in(limit, wanted))
if not least and is_ramping() and wanted > allowed(limit) then into = max(into, 100000) end
elseif wanted > limit.amount and not least then
into = max(into, 10000)
end
end
return into
end
local function charge_of(units, weight)
local share = 0
for _, limit in ipairs(limits) do share = max(share, cost_of(limit, units) / limit.amount) end
return ceil(share * 1e6 / weight)
end
local function silence()
local shortest
for _, limit in ipairs(rules.limits) do
if limit.periodMs > 0 then shortest = min(shortest or math.huge, limit.periodMs) end
end
local counted = shortest and floor(shortest * 2001 / 2) + 2000 or 0
return min(3000000, 1000000 + rules.arrivalMs * 1000 + counted)
end
local function is_logged(step)
if step.refused or step.scope ~= '' then return false end
local granted = max(1, now - (step.sentAgoMs + 500) * 1000)
for _, limit in ipairs(logged) do
if limit.log.full >= granted and step.ms <= ceil(limit.period / 1000) * 1000 then return true end
end
return false
end
local function pause(step)
if is_logged(step) then return { 'no' } end
local before = pauses[step.scope]
local same = before and now - step.sentAgoMs * 1000 <= before.started
if same and (step.ms < 0 or now + step.ms * 1000 <= before.until_us + 1000000) then
if step.refused then before.refused = true end
return { 'no' }
end
local level = 0
if same then level = before.level
elseif before and now < before.until_us + 60000 * 1000 and before.refused then level = before.level + 1 end
local unsaid = min(60000, 1000 * 2 ^ min(level, 10))
local wanted = step.ms >= 0 and step.ms or min(60000, floor(unsaid + unsaid / 2 * step.chance))
local until_us = max(before and before.until_us or 0, now + min(step.maxMs, wanted) * 1000)
local refused = step.refused or (before ~= nil and now < before.until_us and before.refused)
pauses[step.scope] = { started = same and before.started or now, until_us = until_us, level = level, refused = refused }
return { 'paused', ceil((until_us - now) / 1000) }
end
local function paused_ms(scope) return max(0, ceil(((pauses[scope] and pauses[scope].until_us or 0) - now) / 1000)) end
local function forget_pauses()
for scope, each in pairs(pauses) do
if now > each.until_us + 60000 * 1000 then pauses[scope] = nil end
end
end
local function take_retry()
local passed = max(0, now - meta.retry)
meta.retry = now
meta.tokens = min(100000, meta.tokens + floor(rules.retryPerSecond * passed / 1e6))
if meta.tokens < 1000 then return { 'no' } end
meta.tokens = meta.tokens - 1000
return { 'ok' }
end
local function widen()
if #logged == 0 then return { 'no' } end
local shortest = math.huge
for _, limit in ipairs(logged) do shortest = min(shortest, limit.period * 1000) end
if meta.widened > 0 and now < meta.widened_until - 600000000 + 1000000 then return { 'no' } end
local before = now < meta.widened_until and meta.widened or 0
meta.widened = min(floor(shortest / 4), max(floor(shortest / 20), before * 2))
meta.widened_until = now + 600000000
return { 'ok' }
end
local function tagged(tag) return string.format('%016.0f', tag) end
local function first_of(from, to, count) return call('ZRANGEBYLEX', Q, '[' .. from, '(' .. to, 'LIMIT', 0, count or 1) end
local function waiter_member(w)
local order = string.format('%016.0f%012.0f', w.order + 4000000000000000, w.seq)
return 'w' .. w.caller .. '\\0' .. w.tenant .. '\\0' .. order .. '\\0' .. w.id .. '\\0' .. w.owner
end
local nodes, changed, removed = {}, {}, {}
local function member_of(n)
if n.tenant then return (n.waiting > 0 and 't' or 'j') .. n.caller .. '\\0' .. tagged(n.tag) .. '\\0' .. n.tenant end
return (n.waiting > 0 and 'c' or 'i') .. tagged(n.tag) .. '\\0' .. n.caller
end
local function node(field, caller, tenant)
local n = nodes[field]
if not n then
local l = load(field)
n = { tag = l and l[1] or 0, waiting = l and l[2] or 0, virtual = l and l[3] or 0, caller = caller, tenant = tenant }
if l then n.member = member_of(n) end
nodes[field] = n
end
return n
end
local function caller_node(w) return node('n' .. w.caller, w.caller) end
local function tenant_node(w) return node('N' .. w.caller .. '\\0' .. w.tenant, w.caller, w.tenant) end
local function change(n, tag, waiting) n.tag, n.waiting, changed[n] = tag, waiting, true end
local function flush()
if #removed > 0 then call('ZREM', Q, unpack(removed)) end
removed = {}
for n in pairs(changed) do
local member = member_of(n)
if n.member and n.member ~= member then call('ZREM', Q, n.member) end
if n.member ~= member then call('ZADD', Q, 0, member) end
n.member = member
end
end
local waiters, waiter_changed = {}, {}
local function find_waiter(id)
if waiters[id] == nil then
waiters[id] = load('w' .. id) or false
end
return waiters[id] or nil
end
local function put_waiter(id, w)
waiters[id], waiter_changed[id] = w or false, true
end
local function enqueue(w)
local c, t = caller_node(w), tenant_node(w)
if t.waiting == 0 then meta.tenants = meta.tenants + 1 end
local caller_tag = c.waiting == 0 and max(c.tag, meta.virtual) or c.tag
local tenant_tag = t.waiting == 0 and max(t.tag, c.virtual) or t.tag
change(c, caller_tag, c.waiting + 1)
change(t, tenant_tag, t.waiting + 1)
call('ZADD', Q, 0, waiter_member(w))
meta.waiting = meta.waiting + 1
for unit, units in pairs(w.units) do queued[unit] = (queued[unit] or 0) + units end
end
local function forget_node(field, member)
call('ZREM', Q, member)
if nodes[field] then changed[nodes[field]] = nil end
nodes[field] = nil
call('HDEL', S, field)
end
local function forget_idle(w)
flush()
local from = 'j' .. w.caller .. '\\0'
for _, member in ipairs(first_of(from, from .. tagged(caller_node(w).virtual + 1), 2)) do
forget_node('N' .. w.caller .. '\\0' .. string.match(member, '%z([^%z]*)$'), member)
end
for _, member in ipairs(first_of('i', 'i' .. tagged(meta.virtual + 1), 2)) do
local caller = string.match(member, '%z([^%z]*)$')
if #first_of('j' .. caller .. '\\0', 'j' .. caller .. '\\1') == 0 then forget_node('n' .. caller, member) end
end
end
local function left_queue(w)
local c, t = caller_node(w), tenant_node(w)
change(c, c.tag, c.waiting - 1)
change(t, t.tag, t.waiting - 1)
if t.waiting == 0 then
meta.tenants = meta.tenants - 1
forget_idle(w)
end
meta.waiting = meta.waiting - 1
for unit, units in pairs(w.units) do queued[unit] = queued[unit] - units end
end
local function dequeue(w)
if call('ZREM', Q, waiter_member(w)) == 0 then return false end
left_queue(w)
return true
end
local function last_name(member) return string.match(member, '%z([^%z]*)$') end
local function head_of(caller, tenant)
local from = 'w' .. caller .. '\\0' .. tenant
return first_of(from .. '\\0', from .. '\\1')[1]
end
local function id_of(member) return string.match(member, '%z([^%z]*)%z[^%z]*$') end
local function first_tenant(caller)
local found = first_of('t' .. caller .. '\\0', 't' .. caller .. '\\1')[1]
return found and last_name(found)
end
local heads, at_head = {}, 1
local function first_waiter()
if meta.tenants ~= 1 or not heads[at_head] then
flush()
local found = first_of('c', 'd')[1]
local caller = found and last_name(found)
local tenant = caller and first_tenant(caller)
local from = tenant and 'w' .. caller .. '\\0' .. tenant
heads, at_head = from and first_of(from .. '\\0', from .. '\\1', meta.tenants == 1 and 64 or 1) or {}, 1
end
return heads[at_head] and find_waiter(id_of(heads[at_head]))
end
local function dequeue_first(w)
removed[#removed + 1] = heads[at_head]
at_head = at_head + 1
left_queue(w)
end
local function charge(w)
local c, t = caller_node(w), tenant_node(w)
meta.virtual = max(meta.virtual + 1, c.tag)
c.virtual = max(c.virtual + 1, t.tag)
change(c, c.tag + w.charge, c.waiting)
change(t, t.tag + w.tenant_charge, t.waiting)
end
local function refund(w)
local c, t = caller_node(w), tenant_node(w)
if c.tag >= w.charge then change(c, c.tag - w.charge, c.waiting) end
if t.tag >= w.tenant_charge then change(t, t.tag - w.tenant_charge, t.waiting) end
end
local function ahead_of(w)
local own = tenant_node(w).waiting
local from = 'w' .. w.caller .. '\\0' .. w.tenant .. '\\0'
local rank = own > 0 and call('ZLEXCOUNT', Q, '[' .. from, '(' .. waiter_member(w)) or 0
local others = meta.tenants - (own > 0 and 1 or 0)
return rank + min(meta.waiting - own, (rank + 1) * others)
end
local function least_ahead()
flush()
local callers = first_of('c', 'd', 64)
if #callers == 0 then return 0 end
local heads, caller = {}, last_name(callers[1])
if #callers > 1 then
for at, each in ipairs(callers) do heads[at] = head_of(last_name(each), first_tenant(last_name(each))) end
else
local tenants = first_of('t' .. caller .. '\\0', 't' .. caller .. '\\1', 64)
if #tenants > 1 then
for at, each in ipairs(tenants) do heads[at] = head_of(caller, last_name(each)) end
else
local from = 'w' .. caller .. '\\0' .. last_name(tenants[1])
heads = first_of(from .. '\\0', from .. '\\1', 64)
end
end
for at, head in ipairs(heads) do if last_name(head) == owner then return at - 1 end end
return #heads
end
if not call('ZSCORE', Q, '!' .. meta.marker) then
call('DEL', Q)
call('ZADD', Q, 0, '!' .. meta.marker)
meta.waiting, meta.tenants, meta.virtual, queued = 0, 0, 0, {}
local is_due = {}
for _, each in ipairs(due) do is_due[each[1]] = true end
local ids = {}
for _, field in ipairs(call('HKEYS', S)) do
local kind = string.sub(field, 1, 1)
if kind == 'n' or kind == 'N' then call('HDEL', S, field)
elseif kind == 'w' and not is_due[string.sub(field, 2)] then ids[#ids + 1] = string.sub(field, 2) end
end
for _, id in ipairs(ids) do enqueue(find_waiter(id)) end
end
local function save_queue()
flush()
for n in pairs(changed) do
put(n.tenant and 'N' .. n.caller .. '\\0' .. n.tenant or 'n' .. n.caller, { n.tag, n.waiting, n.virtual })
end
for id in pairs(waiter_changed) do put('w' .. id, waiters[id]) end
end
local function enter_all(at, units, least)
for _, limit in ipairs(logged) do enter(limit, at, cost_of(limit, units), least) end
end
local function take_out_of_all(g)
for _, limit in ipairs(logged) do take_out(limit, g.arrives, cost_of(limit, g.units)) end
end
local function put_grant(process, name, g)
grants(process)[name], grants_changed[process] = g, true
end
local function grant(w)
meta.numbers = meta.numbers + 1
local arrives = time + 1000000 + (w.arrival < 0 and rules.timeoutMs * 1000 or max(w.arrival, meta.widened))
if arrives > time + 1000000 + rules.arrivalMs * 1000 then meta.long = max(meta.long, arrives) end
enter_all(arrives, w.units, time)
for _, limit in ipairs(logged) do if limit.log.total >= limit.amount then limit.log.full = now end end
local name = meta.marker .. '.' .. whole(meta.numbers)
put_grant(w.owner, name, { arrives = arrives, no = asked.no, units = w.units, id = w.id })
owners[w.owner].granted = owners[w.owner].granted + 1
return meta.numbers
end
local function void_unreceived()
local voided = {}
for name, g in pairs(grants(owner)) do
if g.no > asked.answered and g.no < asked.no then
take_out_of_all(g)
owners[owner].granted = owners[owner].granted - 1
put_grant(owner, name, nil)
voided[#voided + 1] = g.id
end
end
table.sort(voided)
return voided
end
local function give_back(step)
local g = grants(owner)[step.grant]
if not g then return { 'gone' } end
take_out_of_all(g)
put_grant(owner, step.grant, nil)
return { 'ok' }
end
local function settle(g, units)
for _, limit in ipairs(logged) do
if units[limit.unit] and limit.unit ~= 'requests' then
local more = units[limit.unit] - cost_of(limit, g.units)
if more < 0 then take_out(limit, g.arrives, -more) else enter(limit, time, more, time) end
end
end
end
local function move_down(name, g, at)
if at >= g.arrives then return end
for _, limit in ipairs(logged) do enter(limit, at, take_out(limit, g.arrives, cost_of(limit, g.units)), at) end
g.arrives = at
put_grant(owner, name, g)
end
local function report(step)
local g, at = grants(owner)[step.grant], time + step.inUs
if step.late then
if g then take_out_of_all(g) end
local units = g and g.units or step.units or {}
enter_all(at, units, at)
put_grant(owner, step.grant, { arrives = at, no = 0, units = units })
meta.long = max(meta.long, at)
elseif not g then return { 'gone' }
else
move_down(step.grant, g, at)
if step.units then settle(g, step.units) end
end
if step.final then put_grant(owner, step.grant, nil) end
return { 'ok' }
end
local function enter_mirrors(step)
for _, mirror in ipairs(step.mirrors) do
for _, limit in ipairs(logged) do
local log = limit.log
if limit.key == mirror.key and log.mirrored == 0 and mirror.agoUs <= 4000000 then
log.mirrored, log.since, log.changed = time - mirror.agoUs, 0, true
if mirror.completeUs >= 0 then log.since = max(1, log.mirrored - mirror.completeUs) end
for _, entry in ipairs(mirror.entries) do enter(limit, time + entry[1], entry[2], time + entry[1]) end
end
end
end
end
local function register(step, is_first)
local o = owners[owner]
o.granted, o.left = o.ended + step.inFlight, false
if not is_first then return { 'ok' } end
if now < meta.open then enter_mirrors(step) end
local kept = {}
for name, g in pairs(grants(owner)) do kept[name] = g end
for _, each in ipairs(step.grants) do
local at, before = time + each.inUs, kept[each.grant]
if before then
if each.inUs <= 0 then move_down(each.grant, before, at) end
kept[each.grant] = nil
else
for _, limit in ipairs(logged) do
if limit.log.mirrored == 0 or time - each.agoUs >= limit.log.mirrored - 500000 then
enter(limit, at, cost_of(limit, each.units), min(time, at))
end
end
if each.inUs > 0 then put_grant(owner, each.grant, { arrives = at, no = 0, units = each.units }) end
end
end
for name, g in pairs(kept) do
move_down(name, g, time)
put_grant(owner, name, nil)
end
return { 'ok' }
end
local function units_ahead(ahead)
local before = {}
for unit, units in pairs(queued) do
before[unit] = ahead >= meta.waiting and units or floor(units * ahead / meta.waiting)
end
return before
end
local function wait_of(w)
local ahead = ahead_of(w) + #due
return ahead, max(1, ceil(turn_in(w.units, ahead, units_ahead(ahead), false) / 1000))
end
local function may_pass()
if meta.waiting > 0 then return false end
for _, each in ipairs(due) do if each[2] == owner then return false end end
return true
end
local function is_full(w)
local own, half = tenant_node(w).waiting, ceil(rules.maxQueue / 2)
local named = w.caller ~= '' or w.tenant ~= '' or meta.tenants > (own > 0 and 1 or 0)
local share = (w.caller == '' or w.tenant == '') and half or ceil(half / 2)
local most = rules.maxQueuePerTenant >= 0 and rules.maxQueuePerTenant or named and share or rules.maxQueue
return meta.waiting >= rules.maxQueue or own >= most or (w.caller ~= '' and caller_node(w).waiting >= half)
end
local function book(step, given)
local w = find_waiter(step.id)
if w then
local ahead, earliest = wait_of(w)
return { 'queued', ahead, earliest }
end
local ms = (step.scope or '') ~= '' and paused_ms(step.scope) or 0
if ms > 0 then return { 'paused', ms } end
if step.first then meta.tokens = min(100000, meta.tokens + rules.retryPerCall) end
meta.seq = meta.seq + 1
w = {
id = step.id, owner = owner, caller = step.caller or '', tenant = step.tenant or '', scope = step.scope or '',
order = floor(now / 1000) - floor(step.waitedMs) - (step.priorityMs or 0), seq = meta.seq, arrival = step.arrivalUs,
units = step.units or {}, charge = charge_of(step.units or {}, 1),
}
w.tenant_charge = step.weight and charge_of(w.units, step.weight) or w.charge
if may_pass() and fits(w.units) then
given[#given + 1] = { w.id, grant(w) }
return { 'ok' }
end
local ahead, earliest = wait_of(w)
if is_full(w) then return { 'full', ahead, earliest } end
if earliest > step.maxWaitMs and turn_in(w.units, ahead, units_ahead(ahead), true) > step.maxWaitMs * 1000 then
return { 'too-long', ahead, earliest }
end
enqueue(w)
put_waiter(w.id, w)
return { 'queued', ahead, earliest }
end
local function drop_due(is_dropped)
local kept = {}
for _, each in ipairs(due) do
if not is_dropped(each) then kept[#kept + 1] = each end
end
due = kept
end
local function cancel(id)
local w = find_waiter(id)
if not w or w.owner ~= owner then return { 'gone' } end
put_waiter(id, nil)
if not dequeue(w) then
drop_due(function(each) return each[1] == id end)
refund(w)
end
return { 'ok' }
end
local function reserve(units)
for _, limit in ipairs(limits) do reserved[limit.key] = (reserved[limit.key] or 0) + cost_of(limit, units) end
end
local function reserve_due()
for _, each in ipairs(due) do
if each[2] ~= owner and now - each[3] <= 25000 then reserve(each[4]) end
end
end
local function give_own(w, given, paused)
local ms = w.scope == '' and 0 or paused_ms(w.scope)
if ms == 0 and not fits(w.units) then return 'full' end
put_waiter(w.id, nil)
if ms > 0 then
paused[#paused + 1] = { w.id, ms }
return 'paused'
end
given[#given + 1] = { w.id, grant(w) }
return 'granted'
end
local function give_turns(given, paused)
local first, gone = nil, {}
for _, each in ipairs(due) do
if each[2] == owner and not first then
local w = find_waiter(each[1])
if w and give_own(w, given, paused) == 'full' then first = w else gone[each[1]] = true end
end
end
drop_due(function(each) return gone[each[1]] end)
local turns = 0
while not first do
local w = first_waiter()
if not w then return -1 end
if turns == 128 then return 0 end
turns = turns + 1
local o = owners[w.owner]
if not o or o.gone then
dequeue_first(w)
put_waiter(w.id, nil)
elseif w.owner == owner then
local turn = give_own(w, given, paused)
if turn == 'full' then break end
if turn == 'granted' then charge(w) end
dequeue_first(w)
else
local silent = now - o.seen >= 2000000
if not silent and not fits(w.units) then break end
charge(w)
dequeue_first(w)
due[#due + 1] = { w.id, w.owner, silent and 0 or now, w.units }
if not silent then reserve(w.units) end
end
end
local into = turn_in(first and first.units or {}, first and 0 or least_ahead(), {}, false)
return into > 0 and into or 25000
end
if is_new then
meta.start, meta.open, meta.retry = time, now + silence(), now - 1000000
for _, field in ipairs(call('HKEYS', S)) do
if string.sub(field, 1, 1) == 'l' then
local l = load(field)
put(field, { l[1], l[2], meta.kept, l[4], l[5] })
end
end
end
local results, given, paused, mirrors, voided, ask_in = {}, {}, {}, {}, {}, nil
local before = owners[owner]
local registers = asked.steps[1] and asked.steps[1].op == 'register'
local known = asked.marker == meta.marker and before and not before.gone
local runs = (known or registers) and asked.no > (before and before.no or 0)
local function cut_all()
local latest = max(time + 1000000 + rules.arrivalMs * 1000, meta.long)
for _, limit in ipairs(logged) do cut_log(limit, latest) end
for process in pairs(owners) do
for name, g in pairs(grants(process)) do
if g.arrives > latest then
g.arrives = latest
put_grant(process, name, g)
end
end
end
end
local function drop_gone()
for process, o in pairs(owners) do
local silent = now - o.seen
local ending = o.left and o.granted > o.ended and silent < rules.timeoutMs * 1000
if silent >= 3000000 and not ending then
if not o.gone then
o.gone = true
grants_of[process], grants_changed[process] = {}, true
for _, each in ipairs(due) do if each[2] == process then put_waiter(each[1], nil) end end
drop_due(function(each) return each[2] == process end)
end
if silent >= 10000000 and (o.granted <= o.ended or silent >= rules.timeoutMs * 1000) then
owners[process] = nil
grants_of[process], grants_changed[process] = {}, true
end
end
end
end
local function run(step)
local op = step.op
if op == 'book' then return book(step, given)
elseif op == 'cancel' then return cancel(step.id)
elseif op == 'back' then return give_back(step)
elseif op == 'report' then return report(step)
elseif op == 'pause' then return pause(step)
elseif op == 'refusedWithRoom' then return widen()
elseif op == 'retry' then return take_retry()
elseif op == 'register' then return register(step, not before or before.gone) end
owners[owner].left = true
return { 'ok' }
end
local function copy_logs()
for _, limit in ipairs(logged) do
if 1000000 + rules.arrivalMs * 1000 + limit.counted > 3000000 then
local entries, e, complete = {}, limit.log.entries, -1
if now < paced_until(limit) then complete = max(0, time - limit.log.since) end
for i = 1, #e, 3 do entries[#entries + 1] = { e[i] - time, e[i + 1] } end
mirrors[#mirrors + 1] = { limit.key, complete, entries }
end
end
end
if runs then
local o = before or { granted = asked.ended, ended = asked.ended, left = false }
owners[owner] = {
seen = now, no = asked.no, granted = o.granted, ended = max(o.ended, asked.ended), left = o.left, gone = false,
limits = rules.limits,
}
keep_logs()
if was_set_back then cut_all() end
if now >= meta.widened_until then meta.widened = 0 end
drop_gone()
voided = void_unreceived()
reserve_due()
for at, step in ipairs(asked.steps) do results[at] = run(step) end
ask_in = #voided > 0 and 0 or give_turns(given, paused)
if owners[owner].left and owners[owner].granted <= owners[owner].ended then
owners[owner] = nil
grants_of[owner], grants_changed[owner] = {}, true
end
forget_pauses()
if asked.mirror then copy_logs() end
save_logs()
save_queue()
end
local function left_ms(until_us) return max(0, ceil((until_us - now) / 1000)) end
local used, paced, processes = {}, 0, 0
for at, each in ipairs(rules.limits) do
local limit = limit_of(each.key, each.amount)
limit.log = logs[each.key]
used[at] = runs and used_of(limit) or 0
if limit.log then paced = max(paced, paced_until(limit)) end
end
for _, o in pairs(owners) do if not o.gone then processes = processes + 1 end end
local closed = closed_us()
save()
local keep = 604800000
for _, limit in ipairs(limits) do keep = max(keep, 2 * limit.period) end
call('PEXPIRE', S, keep)
call('PEXPIRE', Q, keep)
return cmsgpack.pack(0, clock, meta.marker, runs and 1 or 0, time, now, meta.epoch, meta.offset, meta.lost, results, given, paused,
voided, ask_in or (closed > 0 and closed or -1), left_ms(meta.open), left_ms(paced), paused_ms(''), ceil(meta.widened / 1000),
meta.widened > 0 and left_ms(meta.widened_until) or 0, meta.waiting + #due, processes, used, mirrors)
`,
}

export const inspect: Script = {
  name: 'inspect',
  sha1: '437f4bcaac7e5b99e210862be2909aa236c4421d',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function is_later(value) return value and string.byte(value) == 193 end
local function refuse_later(key)
return redis.error_reply('FORMAT A newer version of Sluice wrote a Redis key in a format that this one does not know: ' .. key)
end
local S, Q = KEYS[1], KEYS[2]
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local asked = cjson.decode(ARGV[2])
local owner, rules = asked.owner, asked.rules
local function load(field)
local packed = call('HGET', S, field)
return packed and cmsgpack.unpack(packed) or nil
end
local function put(field, value)
if value then call('HSET', S, field, cmsgpack.pack(value)) else call('HDEL', S, field) end
end
local function whole(number) return string.format('%.0f', number) end
local META = {
'run', 'marker', 'time', 'verified', 'offset', 'epoch', 'raw', 'wall', 'start', 'open', 'seq', 'numbers', 'long',
'widened', 'widened_until', 'tokens', 'retry', 'waiting', 'tenants', 'virtual', 'limits', 'lost',
}
local meta, is_new, has_state = {}, false, false
if is_later(call('HGET', S, 'm')) then return refuse_later(S) end
do
local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
local m = load('m')
has_state = m ~= nil
if m then for at, name in ipairs(META) do meta[name] = m[at] end end
if meta.run ~= run then
is_new = true
meta.kept = m and meta.time or 0
if not m then meta = { kept = 0, time = clock, verified = clock, offset = 0, lost = 0, epoch = 0, raw = clock, wall = asked.wallMs } end
meta.run, meta.marker = run, string.sub(run, 1, 6) .. string.format('%x', floor(clock / 1000))
for _, name in ipairs({ 'seq', 'numbers', 'long', 'widened', 'widened_until', 'tokens', 'waiting', 'tenants', 'virtual', 'limits' }) do meta[name] = 0 end
end
end
local owners, pauses, due, queued = load('O') or {}, load('p') or {}, load('D') or {}, load('u') or {}
local grants_of, grants_changed = {}, {}
local function grants(process)
if not grants_of[process] then grants_of[process] = load('g' .. process) or {} end
return grants_of[process]
end
local function save()
local m = {}
for at, name in ipairs(META) do m[at] = meta[name] end
call('HSET', S, 'm', cmsgpack.pack(m), 'O', cmsgpack.pack(owners), 'D', cmsgpack.pack(due), 'u', cmsgpack.pack(queued))
put('p', next(pauses) and pauses)
for process in pairs(grants_changed) do put('g' .. process, next(grants_of[process]) and grants_of[process]) end
end
local now, time
local function limit_of(key, amount)
local unit, period = string.match(key, '^(.*)/(%d+)$')
period = tonumber(period or 0)
local width = amount > 64 and max(1, floor(period * 1000 / 128)) or 1
return { key = key, unit = unit or 'requests', period = period, amount = amount, width = width, counted = floor(period * 2001 / 2) + 2000 }
end
local function entry_of(limit, at) return ceil(at / limit.width) * limit.width end
local function enter(limit, at, units, least)
if units <= 0 then return end
local log = limit.log
local arrives, e = entry_of(limit, at), log.entries
local to = #e + 1
while to > 1 and e[to - 3] > arrives do to = to - 3 end
log.total, log.changed, log.frees = log.total + units, true, nil
if least >= at then least = arrives end
if e[to - 3] == arrives then
e[to - 2], e[to - 1] = e[to - 2] + units, min(e[to - 1], least)
return
end
for from = #e, to, -1 do e[from + 3] = e[from] end
e[to], e[to + 1], e[to + 2] = arrives, units, least
end
local function remove_at(e, at)
for to = at, #e do e[to] = e[to + 3] end
end
local function take_out(limit, at, units)
local log = limit.log
local arrives, e = entry_of(limit, at), log.entries
for i = #e - 2, 1, -3 do
if e[i] == arrives then
local taken = min(units, e[i + 1])
e[i + 1], log.total, log.changed, log.frees = e[i + 1] - taken, log.total - taken, true, nil
if e[i + 1] == 0 then remove_at(e, i) end
return taken
end
end
return 0
end
local function expire(limit)
local log, past, gone = limit.log, now - limit.counted, 0
local e = log.entries
while e[gone + 1] and e[gone + 1] <= past do
log.total = log.total - e[gone + 2]
gone = gone + 3
end
if gone == 0 then return end
log.changed, log.frees = true, nil
local size = #e
for at = 1, size do e[at] = e[at + gone] end
end
local function cut_log(limit, latest)
local log, e, late = limit.log, limit.log.entries, {}
while #e > 0 and e[#e - 2] > latest do
late[#late + 1] = { e[#e - 1], e[#e] }
log.total = log.total - e[#e - 1]
e[#e], e[#e - 1], e[#e - 2] = nil, nil, nil
end
for i = #late, 1, -1 do enter(limit, latest, late[i][1], late[i][2]) end
end
local function frees_of(log)
local frees, e, sum = {}, log.entries, 0
for i = 1, #e, 3 do frees[#frees + 1] = { e[i + 2], e[i + 1], e[i + 2] < e[i] } end
table.sort(frees, function(a, b) return a[1] < b[1] end)
for _, free in ipairs(frees) do
sum = sum + free[2]
free[4] = sum
end
return frees
end
local function free_in(limit, units, give_back)
if units <= 0 then return 0 end
local log = limit.log
local rounds = floor((units - 1) / limit.amount)
local left, into = units - rounds * limit.amount, limit.counted
log.frees = log.frees or frees_of(log)
local frees, low, high = log.frees, 1, #log.frees
if give_back then
for _, free in ipairs(frees) do if free[3] then left = left - free[2] end end
if left <= 0 then return rounds * limit.counted end
for _, free in ipairs(frees) do
if not free[3] then
left = left - free[2]
if left <= 0 then return rounds * limit.counted + max(0, free[1] + limit.counted - now) end
end
end
return rounds * limit.counted + into
end
while low <= high do
local middle = floor((low + high) / 2)
if frees[middle][4] >= left then high = middle - 1 else low = middle + 1 end
end
if frees[low] then into = max(0, frees[low][1] + limit.counted - now) end
return rounds * limit.counted + into
end
local function limits_in_force()
local strictest, found = {}, {}
for _, o in pairs(owners) do
for _, each in ipairs(now - o.seen < 10000000 and o.limits or {}) do
strictest[each.key] = min(strictest[each.key] or math.huge, each.amount)
end
end
for key, amount in pairs(strictest) do found[#found + 1] = limit_of(key, amount) end
table.sort(found, function(a, b) return a.key < b.key end)
return found
end
local logs, limits, logged = {}, {}, {}
local function read_log(key)
local l = load('l' .. key)
return l and { total = l[1], since = l[2], mirrored = l[3], entries = l[4], full = l[5] or 0 }
end
local function filled_log(limit, kept, is_first)
local log = { total = 0, since = is_first and meta.start or time, mirrored = 0, entries = {}, full = 0, changed = true }
local source
for _, key in ipairs(kept) do
local other = limit_of(key, 1)
if other.unit == limit.unit and other.period > 0 then
if not source then source = other
elseif source.period < limit.period then if other.period > source.period then source = other end
elseif other.period >= limit.period and other.period < source.period then source = other end
end
end
limit.log = log
if not source then return log end
local known = logs[source.key]
local e = known.entries
for i = 1, #e, 3 do enter(limit, e[i], e[i + 1], e[i + 2]) end
log.since = source.period >= limit.period and known.since or max(known.since, now - source.period * 1000)
return log
end
local function keep_logs()
limits = limits_in_force()
local kept, is_kept, keys, missing = {}, {}, '', false
for _, limit in ipairs(limits) do
if limit.period > 0 then
logs[limit.key] = read_log(limit.key)
is_kept[limit.key] = true
keys, missing = keys .. ' ' .. limit.key, missing or not logs[limit.key]
end
end
if missing or keys ~= meta.limits then
for _, field in ipairs(call('HKEYS', S)) do
if string.sub(field, 1, 1) == 'l' then
local key = string.sub(field, 2)
kept[#kept + 1] = key
if not logs[key] then logs[key] = read_log(key) end
end
end
table.sort(kept)
local is_first = #kept == 0
for _, limit in ipairs(limits) do
if limit.period > 0 and not logs[limit.key] then
logs[limit.key] = filled_log(limit, kept, is_first)
end
end
for key in pairs(logs) do
if not is_kept[key] then
logs[key] = nil
call('HDEL', S, 'l' .. key)
end
end
meta.limits = keys
end
for _, limit in ipairs(limits) do
limit.log = logs[limit.key]
if limit.log then
logged[#logged + 1] = limit
expire(limit)
end
end
end
local function save_logs()
for key, log in pairs(logs) do
if log.changed then put('l' .. key, { log.total, log.since, log.mirrored, log.entries, log.full }) end
end
end
if not has_state then return cmsgpack.pack(0, clock, '') end
time = clock + meta.offset
now = time
local function left_ms(until_us) return max(0, ceil((until_us - time) / 1000)) end
local shown = {
marker = meta.marker, recoveringMs = left_ms(meta.open), waiting = meta.waiting + #due,
widenedMs = time < meta.widened_until and ceil(meta.widened / 1000) or 0, widenedForMs = left_ms(meta.widened_until),
limits = {}, processes = {}, pauses = {}, queue = {},
}
local in_flight, amounts = 0, {}
for _, limit in ipairs(limits_in_force()) do amounts[limit.key] = limit.amount end
for name, o in pairs(owners) do
in_flight = in_flight + max(0, o.granted - o.ended)
shown.processes[name] = { seenMs = max(0, ceil((time - o.seen) / 1000)), inFlight = max(0, o.granted - o.ended) }
end
if amounts['in-flight'] then
shown.limits['in-flight'] = { used = in_flight, amount = amounts['in-flight'], nextFreeMs = 0, pacedMs = 0 }
end
for _, field in ipairs(call('HKEYS', S)) do
local key = string.match(field, '^l(.*)$')
if key then
local limit, log = limit_of(key, amounts[key] or 1), read_log(key)
limit.log = log
expire(limit)
local next_free = log.entries[1] and left_ms(log.entries[1] + limit.counted) or 0
local paced = log.since == 0 and 0 or left_ms(log.since + limit.counted)
shown.limits[key] = { used = log.total, amount = amounts[key], nextFreeMs = next_free, pacedMs = paced }
end
end
for scope, each in pairs(pauses) do
if each.until_us > time then shown.pauses[scope] = left_ms(each.until_us) end
end
local at_of = {}
local function show_waiter(caller, tenant, order)
local name = caller .. '\\0' .. tenant
if not at_of[name] then
at_of[name] = #shown.queue + 1
shown.queue[at_of[name]] = { caller = caller, tenant = tenant, waiting = 0, sinceMs = 0 }
end
local q = shown.queue[at_of[name]]
q.waiting, q.sinceMs = q.waiting + 1, max(q.sinceMs, max(0, floor(time / 1000) - order))
end
for _, member in ipairs(call('ZRANGEBYLEX', Q, '[w', '(x', 'LIMIT', 0, 1000)) do
local caller, tenant, order = string.match(member, '^w([^%z]*)%z([^%z]*)%z(%d+)')
show_waiter(caller, tenant, string.sub(order, 1, 16) - 4000000000000000)
end
for _, each in ipairs(due) do
local w = load('w' .. each[1])
if w then show_waiter(w.caller, w.tenant, w.order) end
end
return cmsgpack.pack(0, clock, cjson.encode(shown))
`,
}
