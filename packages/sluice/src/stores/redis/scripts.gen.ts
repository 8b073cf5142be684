// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../../redis/script.ts'

export const decide: Script = {
  name: 'decide',
  sha1: '194d36afd61548db9be808af6fb21a194840b448',
  source: `local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock, 0) end
local values, lives = {}, {}
local function plain_takes(raw)
local byte, floor, pack, unpack_limit = string.byte, math.floor, cmsgpack.pack, cmsgpack.unpack_limit
local plain, clock_ms = cjson.decode(ARGV[4]), floor(clock / 1000)
local at, runs = 2, plain[1]
while at < runs do
local last = at + 4 * plain[at]
for s = at + 4, last, 4 do
local length, start = plain[s - 1], plain[s]
if start > 0 and (clock_ms < start or clock_ms >= start + length) then return nil end
if start >= 0 then plain[s] = (clock_ms - start) % length end
end
at = last + 1
end
local total, first = 0, 1
for run = runs, #plain, 4 do
local last, set, cost, copies = plain[run], plain[run + 1], plain[run + 2], plain[run + 3]
local size = 1 + 3 * plain[set]
local array = 144 + size
local head = string.char(array) .. pack(clock)
if size == 4 then
local tag, amount, length, clock_age = plain[set + 1], plain[set + 2], plain[set + 3], plain[set + 4]
head = head .. pack(tag)
for k = first, last do
local value, granted, age, count = raw[k], copies, -1, 0
if value then
local rest, base, stored_tag
rest, base, stored_tag, age, count = unpack_limit(value, size, 1)
if byte(value) ~= array or rest ~= -1 or base <= 0 or base > clock or stored_tag ~= tag then return nil end
if age >= 0 then age = age + clock_ms - floor(base / 1000) end
end
local current = age >= 0 and (age == clock_age or (clock_age < 0 and age < length))
if not current then age, count = clock_age < 0 and 0 or clock_age, 0 end
if amount - count < granted * cost then granted = floor((amount - count) / cost) end
if granted > 0 then
total = total + granted
values[k] = head .. pack(age, count + granted * cost)
if not current then lives[k] = length - age end
end
end
else
for k = first, last do
local value, p, ms = raw[k], nil, 0
if value then
p = { unpack_limit(value, size, 1) }
if byte(value) ~= array or p[1] ~= -1 or p[2] <= 0 or p[2] > clock then return nil end
ms = clock_ms - floor(p[2] / 1000)
else
p = { -1, clock }
end
local granted, kept, begun, s = copies, 0, 0, set
for o = 3, size, 3 do
s = s + 4
local room, length, clock_age, age = plain[s - 2], plain[s - 1], plain[s], -1
if value then
if p[o] ~= plain[s - 3] then return nil end
if p[o + 1] >= 0 then age = p[o + 1] + ms end
end
if age >= 0 and (age == clock_age or (clock_age < 0 and age < length)) then
room = room - p[o + 2]
p[o + 1] = age
if length - age > kept then kept = length - age end
else
age = clock_age < 0 and 0 or clock_age
p[o], p[o + 1], p[o + 2] = plain[s - 3], age, 0
if length - age > begun then begun = length - age end
end
if room < granted * cost then
granted = floor(room / cost)
if granted <= 0 then break end
end
end
if granted > 0 then
total = total + granted
for o = 5, size + 1, 3 do p[o] = p[o] + granted * cost end
values[k] = head .. pack(unpack(p, 3))
if begun > kept then lives[k] = begun end
end
end
end
first = last + 1
end
return total
end
if ARGV[4] ~= '' then
local raw, none = redis.call('MGET', unpack(KEYS)), {}
local told, total = pcall(plain_takes, raw)
for k = 1, #KEYS do
if not raw[k] then
raw[k] = '\\192'
none[#none + 1] = KEYS[k]
end
end
if told and total and (#none == 0 or redis.call('EXISTS', unpack(none)) == 0) then
for k = 1, #KEYS do
if lives[k] then redis.call('SET', KEYS[k], values[k], 'PX', lives[k] + 1)
elseif values[k] then redis.call('SET', KEYS[k], values[k], 'KEEPTTL') end
end
return cmsgpack.pack(0, clock, total) .. table.concat(raw)
end
end
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local function window_age(limit, code, now, now_ms)
if code == 4 then return now_ms - (now < limit[7] * 1000 and limit[6] or limit[7]) end
if code == 1 then return now_ms - floor(now_ms / limit[5]) * limit[5] end
return now_ms - floor(now / 1000 / limit[5]) * limit[5]
end
local function is_current(p, o, limit, code, now, now_ms)
local age = p[o]
if code == 0 and limit[6] == 0 then return age >= 0 and age < limit[5] end
return age >= 0 and age == window_age(limit, code, now, now_ms)
end
local function two_counts(p, o, limit, now, now_ms)
local age = window_age(limit, 1, now, now_ms)
if p[o] == age then return p[o + 1], p[o + 2], age end
if p[o] == age + limit[5] then return 0, p[o + 1], age end
return 0, 0, age
end
local function to_full(p, o, limit)
local left = p[o]
if left == 0 or p[o + 1] == limit[6] then return left end
return ceil(left / p[o + 1]) * limit[6]
end
local function entry_age(limit, us, now)
if limit[6] == 1 then return now - us end
return now - ceil(us / limit[6]) * limit[6]
end
local function live_entries(log, limit)
local period, first = limit[5] * 1000, 1
while log[first] and log[first] >= period do first = first + 2 end
if first == 1 then return log end
local live = {}
for e = first, #log do live[e - first + 1] = log[e] end
return live
end
local function held_in(p, set)
local holds, held = p[set[0] + 2], 0
if holds then
for h = 1, #holds, 5 do
if holds[h + 4] ~= 2 and holds[h + 2] > 0 then held = held + holds[h + 3] end
end
end
return held
end
local function fit(p, set, cost, copies, now, now_ms)
if cost == 0 then return copies end
for l = 1, #set do
local limit = set[l]
local code, o, room = limit[1], limit[3], limit[4]
if code == 3 then
room = limit[7] - ceil(to_full(p, o, limit) / limit[6])
elseif code == 0 or code == 4 then
if is_current(p, o, limit, code, now, now_ms) then room = room - p[o + 1] end
elseif code == 1 then
local current, previous, age = two_counts(p, o, limit, now, now_ms)
room = floor(room - current - (previous * (limit[5] - age)) / limit[5])
elseif code == 2 then
local log, period = p[o], limit[5] * 1000
for e = 1, #log, 2 do if log[e] < period then room = room - log[e + 1] end end
else
room = room - held_in(p, set)
if room < cost then return 0 end
room = copies * cost
end
if room < copies * cost then
copies = floor(room / cost)
if copies <= 0 then return 0 end
end
end
return copies
end
local function spend_one(p, limit, units, now, now_ms)
local code, o = limit[1], limit[3]
if code == 3 then
p[o] = to_full(p, o, limit) + units * limit[6]
p[o + 1] = limit[6]
elseif code == 0 or code == 4 then
if is_current(p, o, limit, code, now, now_ms) then
p[o + 1] = p[o + 1] + units
else
p[o] = (code == 0 and limit[6] == 0) and 0 or window_age(limit, code, now, now_ms)
p[o + 1] = units
end
elseif code == 1 then
local current, previous, age = two_counts(p, o, limit, now, now_ms)
p[o], p[o + 1], p[o + 2] = age, current + units, previous
elseif code == 2 and units > 0 then
local log, age = live_entries(p[o], limit), entry_age(limit, now, now)
local last = #log
if last > 0 then age = min(age, log[last - 1]) end
if last > 0 and log[last - 1] == age then
log[last] = log[last] + units
else
log[last + 1], log[last + 2] = age, units
end
p[o] = log
end
end
local function spend(p, set, units, now, now_ms)
if units == 0 then return end
for l = 1, #set do spend_one(p, set[l], units, now, now_ms) end
end
local function give_back(p, set, units, taken, held, now, now_ms)
for l = 1, #set do
local limit = set[l]
local code, o = limit[1], limit[3]
if code == 3 then
p[o] = max(0, p[o] - max(0, units * p[o + 1] - held))
elseif code == 0 or code == 4 then
if is_current(p, o, limit, code, now, now_ms) and now_ms - p[o] <= floor(taken / 1000) then
p[o + 1] = max(0, p[o + 1] - units)
if p[o + 1] == 0 then p[o] = -1 end
end
elseif code == 1 then
local current, previous, age = two_counts(p, o, limit, now, now_ms)
local start, taken_start = now_ms - age, floor(floor(taken / 1000) / limit[5]) * limit[5]
if taken_start == start then current = max(0, current - units) end
if taken_start == start - limit[5] then previous = max(0, previous - units) end
p[o], p[o + 1], p[o + 2] = age, current, previous
elseif code == 2 then
local tick = ceil(limit[5] / 1000) * 1000
local log, youngest, at_tick, left = live_entries(p[o], limit), now - taken, now - ceil(taken / tick) * tick, units
for e = #log - 1, 1, -2 do
if left > 0 and (log[e] >= youngest or log[e] == at_tick) then
local back = min(left, log[e + 1])
left = left - back
log[e + 1] = log[e + 1] - back
if log[e + 1] == 0 then
table.remove(log, e + 1)
table.remove(log, e)
end
end
end
p[o] = log
end
end
end
local function life(p, set, now, now_ms)
local longest = 0
for l = 1, #set do
local limit = set[l]
local code, o, left = limit[1], limit[3], 0
if code == 3 then
left = ceil(p[o] / 1000)
elseif code == 0 then
if is_current(p, o, limit, code, now, now_ms) then left = limit[5] - p[o] end
elseif code == 1 then
local current, previous, age = two_counts(p, o, limit, now, now_ms)
if current > 0 then left = 2 * limit[5] - age elseif previous > 0 then left = limit[5] - age end
elseif code == 2 then
local log = p[o]
if #log > 0 then left = ceil((limit[5] * 1000 - log[#log - 1]) / 1000) end
elseif code == 4 and is_current(p, o, limit, code, now, now_ms) then
left = (now < limit[7] * 1000 and limit[7] or limit[8]) - now_ms
end
if left > longest then longest = left end
end
local holds = p[set[0] + 2]
if holds then
for h = 1, #holds, 5 do longest = max(longest, ceil(holds[h + 2] / 1000)) end
end
return longest
end
local function calendars_cover(sets, now)
for s = 1, #sets do
for l = 1, #sets[s] do
local limit = sets[s][l]
if limit[1] == 4 and (now < limit[6] * 1000 or now >= limit[8] * 1000) then return false end
end
end
return true
end
local function has_places(set)
for l = 1, #set do if set[l][1] == 5 then return true end end
return false
end
local function find_hold(p, set, id)
local holds = p[set[0] + 2]
if holds then
for h = 1, #holds, 5 do if holds[h] == id then return h end end
end
return nil
end
local function add_hold(p, set, id, ttl, cost, kind)
local last = set[0]
if not p[last + 1] then p[last + 1], p[last + 2] = 127, {} end
local holds = p[last + 2]
local h = #holds
holds[h + 1], holds[h + 2], holds[h + 3], holds[h + 4], holds[h + 5] = id, 0, ttl, cost, kind
end
local function remove_hold(p, set, h)
local holds = p[set[0] + 2]
local taken, cost, kind = holds[h + 1], holds[h + 3], holds[h + 4]
for _ = 1, 5 do table.remove(holds, h) end
if #holds == 0 then p[set[0] + 1], p[set[0] + 2] = nil, nil end
return taken, cost, kind
end
local function expire_holds(p, set, now, now_ms)
while true do
local holds, first = p[set[0] + 2], nil
for h = 1, holds and #holds or 0, 5 do
if holds[h + 2] <= 0 and not (first and holds[first + 2] <= holds[h + 2]) then first = h end
end
if not first then return end
local ago, overdue = holds[first + 1], -holds[first + 2]
local _, cost, kind = remove_hold(p, set, first)
if kind == 0 then give_back(p, set, cost, now - ago, ago - overdue, now, now_ms) end
end
end
local function add_fresh(p, limit)
local code, o = limit[1], limit[3]
if code == 5 then return end
p[o - 1] = limit[2]
if code == 3 then p[o], p[o + 1] = 0, 0
elseif code == 2 then p[o] = {}
else
p[o], p[o + 1] = -1, 0
if code == 1 then p[o + 2] = 0 end
end
end
local widths = { [0] = 2, 3, 1, 2, 2, 0 }
local function measure(sets)
for s = 1, #sets do
local last = 1
for l = 1, #sets[s] do
local width = widths[sets[s][l][1]]
if width > 0 then last = sets[s][l][3] + width - 1 end
end
sets[s][0] = last
end
end
local function fresh(set, now)
local p = { now }
for l = 1, #set do add_fresh(p, set[l]) end
return p
end
local function copy(list)
local made = {}
for i = 1, #list do made[i] = list[i] end
return made
end
local function adopt(p, set)
local same = p[set[0] + 1] == nil or p[set[0] + 1] == 127
for l = 1, #set do
if set[l][1] ~= 5 and p[set[l][3] - 1] ~= set[l][2] then same = false end
end
if same then return p end
local to, from = fresh(set, p[1]), 2
while p[from] do
local tag = p[from]
if tag == 127 then
to[set[0] + 1], to[set[0] + 2] = 127, copy(p[from + 1])
break
end
local code = tag < 128 and floor(tag / 16) or tag % 8
local width = widths[code]
for l = 1, #set do
if set[l][2] == tag then
for w = 0, width - 1 do to[set[l][3] + w] = p[from + 1 + w] end
if code == 2 then to[set[l][3]] = copy(p[from + 1]) end
end
end
from = from + 1 + width
end
return to
end
local function rebase(p, set, now)
local base = p[1]
if base == now then return end
local us, ms = now - base, floor(now / 1000) - floor(base / 1000)
p[1] = now
for l = 1, #set do
local code, o = set[l][1], set[l][3]
if code == 3 then
p[o] = p[o] > us and p[o] - us or 0
elseif code == 2 then
local log = p[o]
for e = 1, #log, 2 do log[e] = log[e] + us end
elseif code ~= 5 and p[o] >= 0 then
p[o] = p[o] + ms
end
end
local holds = p[set[0] + 2]
if holds then
for h = 1, #holds, 5 do
holds[h + 1] = holds[h + 1] + us
holds[h + 2] = holds[h + 2] - us
end
end
end
local function unpack_state(value)
local first = value:byte()
if first < 144 or (first > 159 and first ~= 220 and first ~= 221) then return false end
local rest, p = cmsgpack.unpack_one(value)
return rest == -1 and type(p) == 'table' and type(p[1]) == 'number' and p[1] > 0 and p[1] < 9007199254740992 and p
end
local function unpack_all(raw, states)
for k = 1, #KEYS do
if raw[k] then states[k] = unpack_state(raw[k]) end
end
end
local function load_states()
local raw, states, none = redis.call('MGET', unpack(KEYS)), {}, {}
if not pcall(unpack_all, raw, states) then
for k = 1, #KEYS do
if raw[k] then
local ok, p = pcall(unpack_state, raw[k])
states[k] = ok and p
end
end
end
for k = 1, #KEYS do
if not raw[k] then
raw[k], states[k] = '\\192', nil
none[#none + 1] = KEYS[k]
elseif not states[k] then
raw[k], states[k] = '\\194', false
end
end
if #none > 0 and redis.call('EXISTS', unpack(none)) > 0 then
for k = 1, #KEYS do
if states[k] == nil and redis.call('EXISTS', KEYS[k]) == 1 then raw[k], states[k] = '\\194', false end
end
end
return raw, states
end
local sets = cjson.decode(ARGV[2])
if not calendars_cover(sets, clock) then return cmsgpack.pack(1, clock, 0) end
measure(sets)
local before, states = load_states()
local asks = cjson.decode(ARGV[3])
local total, at, last = 0, 1, #asks
local clock_ms = floor(clock / 1000)
local laid_out, dirty = {}, {}
local own, own_set = {}, {}
local function subject(k, s)
local p = states[k]
if p == false or laid_out[k] == s then return p end
if own[k] then
p, own[k] = own[k], nil
states[k], laid_out[k] = p, own_set[k]
if laid_out[k] == s then return p end
end
if not p then
p = fresh(sets[s], clock)
else
local ok, seen = pcall(adopt, p, sets[s])
if not ok then
before[k], states[k] = '\\194', false
return false
end
if seen ~= p then own[k], own_set[k] = p, laid_out[k] end
p = seen
end
states[k], laid_out[k] = p, s
return p
end
local function wrote(k)
dirty[k], own[k] = true, nil
end
local function take_one(k, s, cost, copies)
local p, set = subject(k, s), sets[s]
if not p then return 0 end
local now, now_ms = clock, clock_ms
if p[1] > clock then now, now_ms = p[1], floor(p[1] / 1000) end
rebase(p, set, now)
if p[set[0] + 1] then expire_holds(p, set, now, now_ms) end
local granted = fit(p, set, cost, copies, now, now_ms)
if granted > 0 then
spend(p, set, granted * cost, now, now_ms)
wrote(k)
end
return granted
end
local function read_charges()
local first, count, charges, now, ours = at + 1, asks[at], {}, clock, true
at = first + count * 3
for c = 1, count do
local place = first + c * 3 - 3
local k, s = asks[place], asks[place + 1]
charges[c] = { k = k, set = sets[s], cost = asks[place + 2] }
ours = ours and states[k] ~= false
if ours then
charges[c].p = subject(k, s)
ours = charges[c].p ~= false
end
if ours and charges[c].p[1] > now then now = charges[c].p[1] end
end
local now_ms = floor(now / 1000)
if ours then
for c = 1, count do
local charge = charges[c]
rebase(charge.p, charge.set, now)
expire_holds(charge.p, charge.set, now, now_ms)
end
end
return charges, now, now_ms, ours
end
local function take_all(charges, id, ttl, kind, now, now_ms)
if id ~= '' then
local held, known = 0, 0
for c = 1, #charges do
local charge = charges[c]
charge.held = kind ~= 3 or has_places(charge.set)
if charge.held then
held = held + 1
if find_hold(charge.p, charge.set, id) then known = known + 1 end
end
end
if held > 0 and known == held then return 1 end
if kind == 3 then kind = 1 end
end
for c = 1, #charges do
local charge = charges[c]
if fit(charge.p, charge.set, charge.cost, 1, now, now_ms) < 1 then return 0 end
end
for c = 1, #charges do
local charge = charges[c]
spend(charge.p, charge.set, charge.cost, now, now_ms)
if charge.held and not find_hold(charge.p, charge.set, id) then add_hold(charge.p, charge.set, id, ttl, charge.cost, kind) end
end
return 1
end
local function settle(charge, id, now, now_ms)
local h = find_hold(charge.p, charge.set, id)
if not h then return 0 end
local ago, cost = remove_hold(charge.p, charge.set, h)
local unused = cost - charge.cost
if unused > 0 then give_back(charge.p, charge.set, unused, now - ago, ago, now, now_ms)
elseif unused < 0 then spend(charge.p, charge.set, -unused, now, now_ms) end
return 1
end
local function extend(charge, id, ttl)
local h = find_hold(charge.p, charge.set, id)
if not h then return 0 end
charge.p[charge.set[0] + 2][h + 2] = ttl
return 1
end
local function refund(charge, taken, now, now_ms)
if taken < 0 or taken > now then taken = now end
give_back(charge.p, charge.set, charge.cost, taken, now - taken, now, now_ms)
return 1
end
local function debit(charge, now, now_ms)
for l = 1, #charge.set do
local units = asks[at + l - 1]
if units > 0 then spend_one(charge.p, charge.set[l], units, now, now_ms) end
end
end
while at <= last do
local kind = asks[at]
at = at + 1
if kind == 0 then
for k = asks[at], asks[at + 1] do total = total + take_one(k, asks[at + 2], asks[at + 3], asks[at + 4]) end
at = at + 5
else
local charges, now, now_ms, ours = read_charges()
local a, b, c = asks[at], asks[at + 1], asks[at + 2]
local done = ours and 1 or 0
if kind == 1 then
if ours then
done = take_all(charges, a, b, c, now, now_ms)
total = total + done
end
at = at + 3
elseif kind == 6 then
if ours then debit(charges[1], now, now_ms) end
at = at + #charges[1].set
elseif kind ~= 5 then
done = 0
for i = 1, ours and #charges or 0 do
if kind == 2 then done = done + settle(charges[i], a, now, now_ms)
elseif kind == 3 then done = done + extend(charges[i], a, b)
else done = done + refund(charges[i], a, now, now_ms) end
end
at = at + (kind == 3 and 2 or 1)
end
for i = 1, done > 0 and #charges or 0 do
local k = charges[i].k
wrote(k)
if kind == 5 then states[k], laid_out[k] = nil, nil end
end
end
end
for k = 1, #KEYS do
if dirty[k] then
local p, s = states[k], laid_out[k]
if own[k] then p, s = own[k], own_set[k] end
local ttl = p and life(p, sets[s], p[1], p[1] == clock and clock_ms or floor(p[1] / 1000)) or 0
if ttl > 0 then
if p[1] > clock then ttl = ttl + ceil((p[1] - clock) / 1000) end
redis.call('SET', KEYS[k], cmsgpack.pack(p), 'PX', ttl + 1)
else
redis.call('DEL', KEYS[k])
end
end
end
return cmsgpack.pack(0, clock, total) .. table.concat(before)
`,
}
