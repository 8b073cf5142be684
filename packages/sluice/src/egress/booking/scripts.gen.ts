// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
  SILENT_MS: 3000,
  CONFIRM_MS: 2000,
  RAMP_MS: 4000,
  RAMP_STEP_MS: 100,
  LEAP_MS: 1000,
  LEFT: -1000000000000,
  IDLE: 4503599627370496,
  PARTS_OF_PERIOD: 16,
  MOST_ENTRIES: 32,
  FIRST_PAUSE_MS: 1000,
  LONGEST_UNSAID_MS: 60000,
  GRAIN_MS: 1000,
  MOST_TOKENS: 100000,
  MOST_SINGLE: 100,
} as const

export const exchange: Script = {
  name: 'exchange',
  sha1: 'fb90dd90abcef65c4b8924a01139c4284f27a822',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local S, Q, T, E = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local asked = cjson.decode(ARGV[2])
local owner, rules, limits = asked.owner, asked.rules, asked.rules.limits
local server_ms = floor(clock / 1000)
local function load(field)
local packed = call('HGET', S, field)
return packed and cmsgpack.unpack(packed) or nil
end
local limit_of = {}
for _, limit in ipairs(limits) do limit_of[limit.key] = limit end
local owners, pauses = load('O') or {}, load('p') or {}
local meta
do
local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
local m = load('m')
if m then
meta = { run = m[1], epoch = m[2], recovering = m[3], last = m[4], skew = m[5], seq = m[6], virtual = m[7], tokens = m[8], retry_ms = m[9] }
else
meta = { run = '', last = server_ms, skew = 0, seq = 0, virtual = 0, tokens = 0, retry_ms = server_ms - 1000 }
end
if meta.run ~= run then
meta.run, meta.epoch, meta.recovering = run, run .. ':' .. server_ms, 1
meta.skew = server_ms - meta.last
for _, id in ipairs(call('ZRANGE', E, 0, -1)) do call('ZADD', E, meta.last + rules.heldMs, id) end
end
end
if owners[owner] and asked.sinceMs >= 0 then
local leap = server_ms - meta.skew - owners[owner] - ceil(asked.sinceMs)
if leap > 1000 and owners[owner] ~= -1000000000000 then meta.skew = meta.skew + leap end
end
if server_ms - meta.skew < meta.last then meta.skew = server_ms - meta.last end
meta.last = server_ms - meta.skew
local now = meta.last
local counts, changed = {}, {}
local function count(field)
local n = counts[field]
if not n then
n = tonumber(call('HGET', S, field) or 0)
counts[field] = n
end
return n
end
local function add(field, units)
counts[field] = max(0, count(field) + units)
changed[field] = true
end
local calls, call_changed = {}, {}
local function find_call(id)
if calls[id] == nil then
local c = load('c' .. id)
calls[id] = c and { owner = c[1], phase = c[2], until_ms = tonumber(call('ZSCORE', E, id)), units = c[3], ticks = c[4] } or false
end
return calls[id] or nil
end
local function put_call(id, c)
calls[id], call_changed[id] = c or false, true
end
local waiters, waiter_changed = {}, {}
local function find_waiter(id)
if waiters[id] == nil then
local w = load('w' .. id)
waiters[id] = w
and { id = id, owner = w[1], tenant = w[2], scope = w[3], order = w[4], seq = w[5], units = w[6], charge = w[7] }
or false
end
return waiters[id] or nil
end
local function put_waiter(id, w)
waiters[id], waiter_changed[id] = w or false, true
end
local assigned, assigned_changed = {}, {}
local function assigned_to(process)
if not assigned[process] then assigned[process] = load('a' .. process) or {} end
return assigned[process]
end
local function put(field, value)
if value then call('HSET', S, field, value) else call('HDEL', S, field) end
end
local function save()
for field in pairs(changed) do put(field, counts[field] > 0 and counts[field]) end
for id in pairs(call_changed) do
local c = calls[id]
put('c' .. id, c and cmsgpack.pack({ c.owner, c.phase, c.units, c.ticks }))
if c then call('ZADD', E, c.until_ms, id) else call('ZREM', E, id) end
end
for id in pairs(waiter_changed) do
local w = waiters[id]
put('w' .. id, w and cmsgpack.pack({ w.owner, w.tenant, w.scope, w.order, w.seq, w.units, w.charge }))
end
for process in pairs(assigned_changed) do
local ids = assigned[process]
put('a' .. process, next(ids) and cmsgpack.pack(ids))
end
call('HSET', S, 'm', cmsgpack.pack({ meta.run, meta.epoch, meta.recovering, meta.last, meta.skew, meta.seq, meta.virtual, meta.tokens, meta.retry_ms }),
'O', cmsgpack.pack(owners))
put('p', next(pauses) and cmsgpack.pack(pauses))
local keep = 604800000
for _, limit in ipairs(limits) do keep = max(keep, 2 * limit.periodMs) end
for k = 1, 4 do call('PEXPIRE', KEYS[k], keep) end
end
local function waiting() return call('ZCARD', Q) end
local function member(w)
return w.tenant .. '\\0' .. string.format('%016.0f%016.0f', w.order + 1e15, w.seq) .. '\\0' .. w.id
end
local function length_of(tenant) return call('ZLEXCOUNT', Q, '[' .. tenant .. '\\0', '(' .. tenant .. '\\1') end
local function rank_of(w) return call('ZLEXCOUNT', Q, '[' .. w.tenant .. '\\0', '(' .. member(w)) end
local function tag_of(tenant)
local score = tonumber(call('ZSCORE', T, tenant) or nil)
if not score then return nil, false end
if score >= 4503599627370496 then return score - 4503599627370496, false end
return score, true
end
local function set_tag(tenant, tag, is_waiting) call('ZADD', T, is_waiting and tag or tag + 4503599627370496, tenant) end
local function enqueue(w)
local tag, is_waiting = tag_of(w.tenant)
if not tag then tag = meta.virtual
elseif not is_waiting then tag = max(tag, meta.virtual) end
local rank = rank_of(w)
call('ZADD', Q, 0, member(w))
set_tag(w.tenant, tag, true)
put_waiter(w.id, w)
for key, units in pairs(w.units) do add('q' .. key, units) end
return rank
end
local function dequeue(w)
if call('ZREM', Q, member(w)) == 0 then return false end
if length_of(w.tenant) == 0 then set_tag(w.tenant, (tag_of(w.tenant)), false) end
for key, units in pairs(w.units) do add('q' .. key, -units) end
return true
end
local function serve(tenant, charge)
local tag, is_waiting = tag_of(tenant)
local start = is_waiting and tag or max(tag or meta.virtual, meta.virtual)
meta.virtual = max(meta.virtual + 1, start)
set_tag(tenant, start + charge, is_waiting)
call('ZREMRANGEBYSCORE', T, 4503599627370496, string.format('(%.0f', 4503599627370496 + meta.virtual))
end
local function refund_service(tenant, charge)
local tag, is_waiting = tag_of(tenant)
if tag then set_tag(tenant, tag - charge, is_waiting) end
end
local function ahead_of(tenant, rank)
local own = length_of(tenant)
local others = call('ZCOUNT', T, '-inf', string.format('(%.0f', 4503599627370496)) - (own > 0 and 1 or 0)
return rank + min(waiting() - own, (rank + 1) * others)
end
local answered_at, answered_changed = {}, {}
local function entries_of(key)
if not answered_at[key] then answered_at[key] = load('r' .. key) or {} end
return answered_at[key]
end
local function note_answered(limit, units)
if units <= 0 then return end
local entries = entries_of(limit.key)
local last = entries[#entries]
answered_changed[limit.key] = true
if last and now - last[1] < limit.periodMs / 16 then last[2] = last[2] + units
else entries[#entries + 1] = { now, units } end
if #entries <= 32 then return end
local oldest = table.remove(entries, 1)
entries[1] = { oldest[1], oldest[2] + entries[1][2] }
end
local function note_undated(key, units)
local entries = entries_of(key)
answered_changed[key] = true
if entries[1] and entries[1][1] == 0 then entries[1][2] = entries[1][2] + units
else table.insert(entries, 1, { 0, units }) end
end
local function forget_answered(key, units, from_newest)
local entries, left = entries_of(key), units
while left > 0 and #entries > 0 do
local at = from_newest and #entries or 1
local taken = min(left, entries[at][2])
left = left - taken
entries[at][2] = entries[at][2] - taken
answered_changed[key] = true
if entries[at][2] <= 0 then table.remove(entries, at) end
end
end
local function after_ms(entries, period_ms, lacking)
local left = lacking
if left <= 0 then return 0 end
for _, entry in ipairs(entries) do
left = left - entry[2]
if left <= 0 then return max(0, entry[1] + period_ms - now) end
end
return period_ms
end
local function back_in_ms(limit, units)
local used, entries = count('u' .. limit.key), entries_of(limit.key)
if units > used then return limit.periodMs, limit.periodMs end
local in_flight = used
for _, entry in ipairs(entries) do in_flight = in_flight - entry[2] end
return after_ms(entries, limit.periodMs, units - max(0, in_flight)), after_ms(entries, limit.periodMs, units)
end
local function save_answered()
for key in pairs(answered_changed) do
put('r' .. key, next(answered_at[key]) and cmsgpack.pack(answered_at[key]))
end
end
local function pause_of(scope) return (pauses[scope] and pauses[scope].until_ms or 0) - now end
local function clamp_units(units)
local clamped = {}
for _, limit in ipairs(limits) do clamped[limit.key] = min(units[limit.key] or 0, limit.amount) end
return clamped
end
local function allowed(limit)
local p = limit.periodMs > 0 and pauses['']
if not p or now >= p.until_ms + 4000 then return limit.amount end
if now < p.until_ms then return 0 end
local share = 0.25 + (0.75 * (now - p.until_ms)) / 4000
return max(1, floor(limit.amount * share))
end
local function fits(units)
for _, limit in ipairs(limits) do
local used, most = count('u' .. limit.key), allowed(limit)
if used + (units[limit.key] or 0) > most and not (used == 0 and most > 0) then return false end
end
return true
end
local function spend(units)
for key, amount in pairs(units) do add('u' .. key, amount) end
end
local function unspend(units)
for key, amount in pairs(units) do add('u' .. key, -amount) end
end
local function wait_of(units, ahead)
local least, depth = max(0, pause_of('')), waiting()
local likely = least
for _, limit in ipairs(limits) do
local queued = count('q' .. limit.key)
local before = ahead >= depth and queued or floor((queued * ahead) / depth)
local lacking = before + (units[limit.key] or 0) - (limit.amount - count('u' .. limit.key))
if lacking > 0 and limit.periodMs > 0 then
local rounds = floor((lacking - 1) / limit.amount)
local back_least, back_likely = back_in_ms(limit, lacking - rounds * limit.amount)
least = max(least, rounds * limit.periodMs + back_least)
likely = max(likely, rounds * limit.periodMs + back_likely)
end
end
return least, likely
end
local function charge_of(units, weight)
local share = 0
for _, limit in ipairs(limits) do share = max(share, (units[limit.key] or 0) / limit.amount) end
return ceil((share * 1e6) / weight)
end
local function pause(step)
local before = pauses[step.scope]
local same = before and now - step.sentAgoMs <= before.started_ms
local following = before and now < before.until_ms + 60000
if same and (step.ms < 0 or now + step.ms <= before.until_ms + 1000) then return { 'no' } end
local level = same and before.level or following and before.level + 1 or 0
local unsaid = min(60000, 1000 * 2 ^ min(level, 10))
local wanted = step.ms >= 0 and step.ms or floor(unsaid / 2 + (unsaid / 2) * step.chance)
local until_ms = max(before and before.until_ms or 0, now + min(step.maxMs, wanted))
pauses[step.scope] = { started_ms = same and before.started_ms or now, until_ms = until_ms, level = level }
return { 'paused', until_ms - now }
end
local function forget_pauses()
for scope, p in pairs(pauses) do
if now > p.until_ms + 60000 then pauses[scope] = nil end
end
end
local function take_retry()
local passed = max(0, now - meta.retry_ms)
meta.retry_ms = now
meta.tokens = min(100000, meta.tokens + floor((rules.retryPerSecond * passed) / 1000))
if meta.tokens < 1000 then return { 'no' } end
meta.tokens = meta.tokens - 1000
return { 'ok' }
end
local function group(limit, process, tick) return 'g' .. limit .. ' ' .. process .. ' ' .. tick end
local function drop_assigned(process, id)
local ids = assigned_to(process)
for at, each in ipairs(ids) do
if each == id then
table.remove(ids, at)
assigned_changed[process] = true
return
end
end
end
local function add_assigned(w)
local ids = assigned_to(w.owner)
ids[#ids + 1] = w.id
assigned_changed[w.owner] = true
end
local function pass_over(w)
dequeue(w)
add_assigned(w)
end
local function lapse(id, c)
local w = find_waiter(id)
put_call(id, nil)
unspend(c.units)
if w then refund_service(w.tenant, w.charge) else drop_assigned(c.owner, id) end
end
local function forget_assigned(process)
local ids = {}
for at, id in ipairs(assigned_to(process)) do ids[at] = id end
for _, id in ipairs(ids) do
local c = find_call(id)
if c then lapse(id, c) end
put_waiter(id, nil)
end
if #ids > 0 then assigned[process], assigned_changed[process] = {}, true end
end
local function unassign(id, c)
local w = find_waiter(id)
put_call(id, nil)
drop_assigned(c.owner, id)
unspend(c.units)
if not w then return end
refund_service(w.tenant, w.charge)
enqueue(w)
end
local function cancel(process, id)
local w, c = find_waiter(id), find_call(id)
local of = w or c
if not of or of.owner ~= process then return { 'gone' } end
if c and c.phase == 'answered' then return { 'no' } end
if w then
if not dequeue(w) and c then refund_service(w.tenant, w.charge) end
put_waiter(id, nil)
end
if c then
unspend(c.units)
put_call(id, nil)
end
drop_assigned(process, id)
return { 'ok' }
end
local function is_over(c)
for _, limit in ipairs(limits) do
local used = count('u' .. limit.key)
if used > allowed(limit) and used > (c.units[limit.key] or 0) then return true end
end
return false
end
local function confirm_all()
local held, paused, ids = {}, {}, {}
for at, id in ipairs(assigned_to(owner)) do ids[at] = id end
table.sort(ids)
for _, id in ipairs(ids) do
local c, w = find_call(id), find_waiter(id)
local scope = w and w.scope or ''
local paused_ms = scope == '' and 0 or pause_of(scope)
if not c then
drop_assigned(owner, id)
if w then enqueue(w) end
elseif paused_ms > 0 then
cancel(owner, id)
paused[#paused + 1] = { id, paused_ms }
elseif meta.recovering == 1 or pause_of('') > 0 or is_over(c) then
unassign(id, c)
else
put_waiter(id, nil)
drop_assigned(owner, id)
put_call(id, { owner = owner, phase = 'held', until_ms = now + rules.heldMs, units = c.units, ticks = c.ticks })
held[#held + 1] = id
end
end
return held, paused
end
local function answered(step)
local c = find_call(step.id)
if not c or c.owner ~= owner then return { 'gone' } end
if c.phase ~= 'held' then return { c.phase == 'answered' and 'ok' or 'gone' } end
local kept, kept_ticks = {}, {}
for key, units in pairs(c.units) do
local limit, tick = limit_of[key], step.ticks[key]
if not limit or (limit.periodMs > 0 and not tick) then add('u' .. key, -units) else kept[key] = units end
if limit and limit.periodMs > 0 and tick then
add(group(key, owner, tick), units)
note_answered(limit, units)
kept_ticks[key] = tick
end
end
put_call(step.id, { owner = owner, phase = 'answered', until_ms = c.until_ms, units = kept, ticks = kept_ticks })
return { 'ok' }
end
local function release_answered(c)
for key, units in pairs(c.units) do
if not c.ticks[key] then add('u' .. key, -units) end
end
end
local function change_group(key, at, change)
add(at, change)
add('u' .. key, change)
if change > 0 then note_undated(key, change) else forget_answered(key, -change, true) end
end
local function settle(limit, difference, tick, now_tick)
local key = limit.key
local at = tick and group(key, owner, tick)
local kept = at and count(at) or 0
if kept > 0 then
change_group(key, at, max(difference, -kept))
elseif difference > 0 and now_tick then
add(group(key, owner, now_tick), difference)
add('u' .. key, difference)
note_answered(limit, difference)
end
end
local function done(step)
local c = find_call(step.id)
if not c or c.owner ~= owner or c.phase ~= 'answered' then return { 'gone' } end
release_answered(c)
for _, limit in ipairs(step.units and limits or {}) do
local key, units = limit.key, step.units[limit.key]
if units and limit.periodMs > 0 then settle(limit, units - (c.units[key] or 0), c.ticks[key], step.ticks[key]) end
end
put_call(step.id, nil)
return { 'ok' }
end
local function free(step)
local at = group(step.limit, owner, step.tick)
local units = count(at)
if units == 0 then return { 'gone' } end
add(at, -units)
add('u' .. step.limit, -units)
forget_answered(step.limit, units, false)
return { 'ok' }
end
local function drop(id, c)
if c.phase == 'answered' then release_answered(c) else unspend(c.units) end
put_call(id, nil)
put_waiter(id, nil)
drop_assigned(c.owner, id)
end
local function all_fields()
local fields = {}
for _, field in ipairs(call('HKEYS', S)) do fields[field] = true end
for field in pairs(changed) do fields[field] = true end
for id in pairs(call_changed) do fields['c' .. id] = true end
return fields
end
local function register(step, confirmed)
local told, kept = {}, {}
for _, each in ipairs(step.calls) do told[each.id] = true end
for _, id in ipairs(confirmed) do told[id] = true end
for _, each in ipairs(step.groups) do kept[group(each.limit, owner, each.tick)] = true end
for field in pairs(all_fields()) do
local kind, rest = string.sub(field, 1, 1), string.sub(field, 2)
if kind == 'c' and not told[rest] then
local c = find_call(rest)
if c and c.owner == owner then drop(rest, c) end
elseif kind == 'g' and not kept[field] then
local limit, process = string.match(rest, '^(%S+) (%S+) %S+$')
if process == owner then
change_group(limit, field, -count(field))
end
end
end
for _, each in ipairs(step.calls) do
local before = find_call(each.id)
if before then drop(each.id, before) end
local named, ticks = {}, {}
for key, taken in pairs(clamp_units(each.units)) do
local in_flight = limit_of[key].periodMs == 0
if not each.ticks or in_flight or each.ticks[key] then
named[key] = taken
if not each.ticks or in_flight then add('u' .. key, taken) end
end
end
for key, tick in pairs(each.ticks or {}) do
if limit_of[key] and limit_of[key].periodMs > 0 then ticks[key] = tick end
end
local phase = each.ticks and 'answered' or 'held'
put_call(each.id, { owner = owner, phase = phase, until_ms = now + rules.heldMs, units = named, ticks = ticks })
end
for _, each in ipairs(step.groups) do
local at = group(each.limit, owner, each.tick)
change_group(each.limit, at, each.units - count(at))
end
return { 'ok' }
end
local function queued(w, ahead)
local _, likely = wait_of(w.units, ahead)
return { 'queued', ahead, likely }
end
local function book(step)
local c = find_call(step.id)
if c then return c.phase == 'assigned' and { 'queued', 0, 0 } or { 'held' } end
local w = find_waiter(step.id)
if w then return queued(w, ahead_of(w.tenant, rank_of(w))) end
local paused_ms = step.scope == '' and 0 or pause_of(step.scope)
if paused_ms > 0 then return { 'paused', paused_ms } end
local units = clamp_units(step.units)
local charge = charge_of(units, step.weight)
if step.first then meta.tokens = min(100000, meta.tokens + rules.retryPerCall) end
if waiting() == 0 and meta.recovering == 0 and fits(units) then
serve(step.tenant, charge)
spend(units)
put_call(step.id, { owner = owner, phase = 'held', until_ms = now + rules.heldMs, units = units, ticks = {} })
return { 'held' }
end
meta.seq = meta.seq + 1
w = {
id = step.id, owner = owner, tenant = step.tenant, scope = step.scope, units = units, charge = charge,
order = now - floor(step.waitedMs) - step.priorityMs, seq = meta.seq,
}
local ahead = ahead_of(step.tenant, rank_of(w))
local least, likely = wait_of(units, ahead)
if waiting() >= rules.maxQueue or length_of(step.tenant) >= rules.maxQueuePerTenant then return { 'full', ahead, likely } end
if least > step.maxWaitMs then return { 'too-long', ahead, likely } end
enqueue(w)
return { 'queued', ahead, likely }
end
local instants, instants_changed = nil, false
local function load_instants()
if not instants then
local i = load('i') or { {}, 0 }
instants = { next_us = i[1], last_us = i[2], logs = {}, returned = load('r') or {} }
end
instants_changed = true
end
local function log_of(key)
if not instants.logs[key] then instants.logs[key] = load('l' .. key) or {} end
return instants.logs[key]
end
local function same_units(a, b)
for _, limit in ipairs(limits) do
if (a[limit.key] or 0) ~= (b[limit.key] or 0) then return false end
end
return true
end
local function width_us(limit) return (limit.periodMs + rules.marginMs) * 1000 end
local function amount_at(limit, at)
local p = pauses['']
local ended = p and at - p.until_ms * 1000 or math.huge
if ended >= 4000 * 1000 then return limit.amount end
return max(1, floor(limit.amount * (0.25 + (0.75 * max(0, ended)) / (4000 * 1000))))
end
local function earliest_of(limit, units)
if rules.spacing == 'even' then return instants.next_us[limit.key] or 0 end
local width, log, kept, taken = width_us(limit), log_of(limit.key), {}, 0
for k = 1, #log, 2 do
if log[k] > now * 1000 - width then
kept[#kept + 1], kept[#kept + 2] = log[k], log[k + 1]
taken = taken + log[k + 1]
end
end
instants.logs[limit.key] = kept
local at = 0
for k = 1, #kept, 2 do
if taken + min(units, limit.amount) <= limit.amount then break end
taken = taken - kept[k + 1]
at = kept[k] + width
end
return at
end
local function record(limit, units, at)
if rules.spacing == 'even' then
instants.next_us[limit.key] = at + ceil((units * width_us(limit)) / amount_at(limit, at))
return
end
local log = log_of(limit.key)
local n = #log
if n > 0 and limit.amount > 100 and at - log[n - 1] < limit.periodMs then
log[n - 1], log[n] = at, log[n] + units
else
log[n + 1], log[n + 2] = at, units
end
end
local function book_one(units, max_wait)
for at, each in ipairs(instants.returned) do
if same_units(each[2], units) then
if each[1] - now * 1000 <= max_wait * 1000 then
table.remove(instants.returned, at)
return each[1]
end
break
end
end
local at = max(now * 1000, (pauses[''] and pauses[''].until_ms or 0) * 1000, instants.last_us)
for _, limit in ipairs(limits) do at = max(at, earliest_of(limit, units[limit.key] or 0)) end
local wait = ceil((at - now * 1000) / 1000)
if wait > max_wait then return -1 - wait end
for _, limit in ipairs(limits) do record(limit, units[limit.key] or 0, at) end
instants.last_us = at
return at
end
local function book_instants(step)
load_instants()
local before, booked, at, kept = load('x' .. owner) or {}, {}, {}, {}
for _, each in ipairs(instants.returned) do
if each[1] >= now * 1000 then kept[#kept + 1] = each end
end
instants.returned = kept
for k, id in ipairs(step.ids) do
at[k] = before[id] or book_one(step.units, step.maxWaitsMs[k])
if at[k] >= 0 then booked[id] = at[k] end
end
put('x' .. owner, next(booked) and cmsgpack.pack(booked))
return { 'instants', at }
end
local function return_instant(step)
if step.atUs < now * 1000 then return { 'no' } end
load_instants()
local at = #instants.returned + 1
while at > 1 and instants.returned[at - 1][1] > step.atUs do at = at - 1 end
table.insert(instants.returned, at, { step.atUs, step.units })
return { 'ok' }
end
local function save_instants()
if not instants_changed then return end
put('i', cmsgpack.pack({ instants.next_us, instants.last_us }))
put('r', next(instants.returned) and cmsgpack.pack(instants.returned))
for key, log in pairs(instants.logs) do put('l' .. key, next(log) and cmsgpack.pack(log)) end
end
local function orphan_call(c, orphaned)
for key, units in pairs(c.units) do
if limit_of[key] and limit_of[key].periodMs > 0 then
orphaned[key] = (orphaned[key] or 0) + units
note_answered(limit_of[key], units)
else
add('u' .. key, -units)
end
end
end
local function adopt()
local orphaned, gone = {}, false
for process, seen in pairs(owners) do
if process ~= owner and now - seen >= 3000 then
owners[process] = nil
put('x' .. process, nil)
forget_assigned(process)
gone = true
end
end
if gone then
for field in pairs(all_fields()) do
local limit, process = string.match(field, '^g(%S+) (%S+) %S+$')
if limit and not owners[process] then
local units = count(field)
if units > 0 then
add(field, -units)
orphaned[limit] = (orphaned[limit] or 0) + units
end
end
end
end
for _, id in ipairs(call('ZRANGEBYSCORE', E, '-inf', now)) do
local c = find_call(id)
if c and c.until_ms <= now then
if c.phase == 'assigned' then lapse(id, c)
elseif owners[c.owner] then
put_call(id, { owner = c.owner, phase = c.phase, until_ms = now + rules.heldMs, units = c.units, ticks = c.ticks })
else
put_call(id, nil)
if c.phase == 'answered' then release_answered(c) else orphan_call(c, orphaned) end
end
end
end
local keys, adopted = {}, {}
for key, units in pairs(orphaned) do if units > 0 then keys[#keys + 1] = key end end
table.sort(keys)
local tick = string.format('adopted-%.0f', now)
for at, key in ipairs(keys) do
add(group(key, owner, tick), orphaned[key])
adopted[at] = { key, tick, orphaned[key] }
end
return adopted
end
local function assign(held)
local notify, at_of = {}, {}
if meta.recovering == 1 then return notify end
while true do
local best = call('ZRANGEBYSCORE', T, '-inf', string.format('(%.0f', 4503599627370496), 'LIMIT', 0, 1)[1]
if not best then return notify end
local first = call('ZRANGEBYLEX', Q, '[' .. best .. '\\0', '(' .. best .. '\\1', 'LIMIT', 0, 1)[1]
local id = first and string.match(first, '%z([^%z]*)$')
local w = id and find_waiter(id)
if not w then
if first then call('ZREM', Q, first) else set_tag(best, (tag_of(best)), false) end
elseif not owners[w.owner] then
dequeue(w)
put_waiter(id, nil)
elseif now - owners[w.owner] >= 2000 then
pass_over(w)
elseif not fits(w.units) then
return notify
else
serve(w.tenant, w.charge)
dequeue(w)
spend(w.units)
local mine = w.owner == owner
local phase, until_ms = mine and 'held' or 'assigned', now + (mine and rules.heldMs or 2000)
put_call(id, { owner = w.owner, phase = phase, until_ms = until_ms, units = w.units, ticks = {} })
if mine then
put_waiter(id, nil)
held[#held + 1] = id
else
add_assigned(w)
if not at_of[w.owner] then
notify[#notify + 1] = { owner = w.owner, ids = {} }
at_of[w.owner] = #notify
end
local told = notify[at_of[w.owner]].ids
told[#told + 1] = id
end
end
end
end
local known = owners[owner] ~= nil
owners[owner] = now
local held, paused = confirm_all()
local results, confirmed = {}, {}
for at, id in ipairs(held) do confirmed[at] = id end
for at, step in ipairs(asked.steps) do
local op, result = step.op, nil
if op == 'book' then result = book(step)
elseif op == 'cancel' then result = cancel(owner, step.id)
elseif op == 'answered' then result = answered(step)
elseif op == 'done' then result = done(step)
elseif op == 'free' then result = free(step)
elseif op == 'pause' then result = pause(step)
elseif op == 'retry' then result = take_retry()
elseif op == 'register' then result = register(step, confirmed)
elseif op == 'instants' then result = book_instants(step)
elseif op == 'return' then result = return_instant(step)
elseif op == 'recovered' then
if step.epoch == meta.epoch then meta.recovering = 0 end
result = { 'ok' }
else
owners[owner] = -1000000000000
result = { 'ok' }
end
results[at] = result
end
local adopted = adopt()
local notify = assign(held)
local paused_until = pauses[''] and pauses[''].until_ms or 0
forget_pauses()
local depth = waiting()
local wake = -1
if depth > 0 and paused_until > 0 and now < paused_until + 4000 then
wake = now < paused_until and paused_until - now or 100
end
local processes = 0
for _ in pairs(owners) do processes = processes + 1 end
local used = {}
for at, limit in ipairs(limits) do used[at] = count('u' .. limit.key) end
save_instants()
save_answered()
save()
local notified = {}
for at, each in ipairs(notify) do
call('PUBLISH', ARGV[3] .. each.owner, #each.ids)
notified[at] = { each.owner, each.ids }
end
return cmsgpack.pack(0, clock, now, meta.epoch, meta.recovering, known and 1 or 0, results, held, paused, adopted, wake,
math.max(0, paused_until - now), depth, processes, used, notified)
`,
}

export const inspect: Script = {
  name: 'inspect',
  sha1: '95b282d16a5957fa8b0ae59ca3c00a6011fe99ca',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local S, Q = KEYS[1], KEYS[2]
local function load(field)
local packed = call('HGET', S, field)
return packed and cmsgpack.unpack(packed) or nil
end
local m = load('m')
if not m then return cmsgpack.pack(0, clock, '') end
local now = math.floor(clock / 1000) - m[5]
local told = {
epoch = m[2], recovering = m[3] == 1, waiting = call('ZCARD', Q),
limits = {}, processes = {}, pauses = {}, calls = { assigned = 0, held = 0, answered = 0 },
}
for process, seen in pairs(load('O') or {}) do told.processes[process] = math.max(0, now - seen) end
for scope, pause in pairs(load('p') or {}) do
if pause.until_ms > now then told.pauses[scope] = pause.until_ms - now end
end
local fields = call('HGETALL', S)
for at = 1, #fields, 2 do
local kind, name = string.sub(fields[at], 1, 1), string.sub(fields[at], 2)
if kind == 'u' then told.limits[name] = tonumber(fields[at + 1])
elseif kind == 'c' then
local phase = cmsgpack.unpack(fields[at + 1])[2]
told.calls[phase] = told.calls[phase] + 1
end
end
return cmsgpack.pack(0, clock, cjson.encode(told))
`,
}
