// Generated from lua/*.lua by `npm run generate`. Do not edit.
export interface Script {
  readonly name: string
  readonly source: string
  readonly sha1: string
}

export const decide: Script = {
  name: 'decide',
  sha1: 'c657662adb1c1798f4c6cfea48e69152ce231927',
  source: `local floor, ceil, max = math.floor, math.ceil, math.max
local function is_current(f, o, limit, now, now_ms)
if limit[6] == 1 then return f[o] == floor(now / 1000 / limit[5]) * limit[5] end
return now_ms - f[o] < limit[5]
end
local function two_counts(f, o, limit, now_ms)
local start = floor(now_ms / limit[5]) * limit[5]
if f[o] == start then return start, f[o + 1], f[o + 2] end
if f[o] == start - limit[5] then return start, 0, f[o + 1] end
return start, 0, 0
end
local function full_at(f, o, limit, now)
local at = f[o]
if at <= now then return now end
local interval = f[o + 1]
if interval == limit[6] then return at end
return now + ceil((at - now) / interval) * limit[6]
end
local function calendar_start(limit, now)
return now < limit[7] * 1000 and limit[6] or limit[7]
end
local function tick_of(limit, us)
return limit[6] == 1 and us or ceil(us / limit[6]) * limit[6]
end
local function drop_expired(log, limit, now)
local oldest, kept = now - limit[5] * 1000, {}
for e = 1, #log, 2 do
if log[e] > oldest then
kept[#kept + 1] = log[e]
kept[#kept + 1] = log[e + 1]
end
end
return kept
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
local function room_of(st, limit, now, now_ms)
local code, f, o = limit[1], st.f, limit[3]
if code == 0 then
if is_current(f, o, limit, now, now_ms) then return max(0, limit[4] - f[o + 1]) end
return limit[4]
elseif code == 1 then
local start, current, previous = two_counts(f, o, limit, now_ms)
return max(0, floor(limit[4] - current - (previous * (limit[5] - (now_ms - start))) / limit[5]))
elseif code == 2 then
local used, oldest, log = 0, now - limit[5] * 1000, f[o]
if log == 0 then return limit[4] end
for e = 1, #log, 2 do if log[e] > oldest then used = used + log[e + 1] end end
return max(0, limit[4] - used)
elseif code == 3 then
return max(0, limit[7] - ceil((full_at(f, o, limit, now) - now) / limit[6]))
elseif code == 4 then
if f[o] == calendar_start(limit, now) then return max(0, limit[4] - f[o + 1]) end
return limit[4]
end
local held, holds = 0, st.holds
if holds then
for h = 1, #holds do
if holds[h].kind ~= 2 and holds[h].expires > now then held = held + holds[h].cost end
end
end
return max(0, limit[4] - held)
end
local function spend_of(st, limit, units, now, now_ms)
local code, f, o = limit[1], st.f, limit[3]
if code == 0 then
if is_current(f, o, limit, now, now_ms) then
f[o + 1] = f[o + 1] + units
else
f[o] = limit[6] == 1 and floor(now / 1000 / limit[5]) * limit[5] or now_ms
f[o + 1] = units
end
elseif code == 1 then
local start, current, previous = two_counts(f, o, limit, now_ms)
f[o], f[o + 1], f[o + 2] = start, current + units, previous
elseif code == 2 then
if units == 0 then return end
local log = f[o] == 0 and {} or drop_expired(f[o], limit, now)
local tick = tick_of(limit, now)
if #log > 0 and log[#log - 1] == tick then
log[#log] = log[#log] + units
else
log[#log + 1] = tick
log[#log + 1] = units
end
f[o] = log
elseif code == 3 then
f[o] = full_at(f, o, limit, now) + units * limit[6]
f[o + 1] = limit[6]
elseif code == 4 then
local start = calendar_start(limit, now)
f[o + 1] = f[o] == start and f[o + 1] + units or units
f[o] = start
end
end
local function give_back_of(st, limit, units, taken, now, now_ms)
local code, f, o = limit[1], st.f, limit[3]
if code == 0 then
if is_current(f, o, limit, now, now_ms) and f[o] <= floor(taken / 1000) then f[o + 1] = max(0, f[o + 1] - units) end
elseif code == 1 then
local start, current, previous = two_counts(f, o, limit, now_ms)
local taken_start = floor(floor(taken / 1000) / limit[5]) * limit[5]
if taken_start == start then current = max(0, current - units) end
if taken_start == start - limit[5] then previous = max(0, previous - units) end
f[o], f[o + 1], f[o + 2] = start, current, previous
elseif code == 2 then
local log = f[o] == 0 and {} or drop_expired(f[o], limit, now)
local latest = tick_of(limit, taken)
for e = #log - 1, 1, -2 do
if units > 0 and log[e] <= latest then
local back = math.min(units, log[e + 1])
units = units - back
log[e + 1] = log[e + 1] - back
if log[e + 1] == 0 then
table.remove(log, e + 1)
table.remove(log, e)
end
end
end
f[o] = log
elseif code == 3 then
local back = max(0, units * limit[6] - (now - taken))
f[o] = max(now, full_at(f, o, limit, now) - back)
f[o + 1] = limit[6]
elseif code == 4 then
local start = calendar_start(limit, now)
if f[o] == start and start <= taken / 1000 then f[o + 1] = max(0, f[o + 1] - units) end
end
end
local function end_of(st, limit, now, now_ms)
local code, f, o = limit[1], st.f, limit[3]
if code == 0 then
return is_current(f, o, limit, now, now_ms) and (f[o] + limit[5]) * 1000 or now
elseif code == 1 then
local start = two_counts(f, o, limit, now_ms)
return (start + 2 * limit[5]) * 1000
elseif code == 2 then
local log = f[o]
return (log ~= 0 and #log > 0) and max(now, log[#log - 1] + limit[5] * 1000) or now
elseif code == 3 then
return full_at(f, o, limit, now)
elseif code == 4 then
return (calendar_start(limit, now) == limit[6] and limit[7] or limit[8]) * 1000
end
return now
end
local function find_hold(st, id)
if not st.holds then return nil end
for h = 1, #st.holds do if st.holds[h].id == id then return h end end
return nil
end
local function add_hold(st, id, taken, expires, cost, kind)
st.holds = st.holds or {}
st.holds[#st.holds + 1] = { id = id, taken = taken, expires = expires, cost = cost, kind = kind }
end
local function remove_hold(st, id)
local h = find_hold(st, id)
return h and table.remove(st.holds, h)
end
local function expire_holds(st, set, now, now_ms, give_back)
if not st.holds then return end
local kept, gone = {}, {}
for h = 1, #st.holds do
local list = st.holds[h].expires > now and kept or gone
list[#list + 1] = st.holds[h]
end
if #gone == 0 then return end
st.holds = kept
for h = 1, #gone do
if gone[h].kind == 0 then give_back(st, set, gone[h].cost, gone[h].taken, now, now_ms) end
end
end
local function unpack_holds(flat, base)
local holds = {}
for h = 1, #flat, 5 do
holds[#holds + 1] = { id = flat[h], taken = base - flat[h + 1], expires = base + flat[h + 2], cost = flat[h + 3], kind = flat[h + 4] }
end
return holds
end
local function pack_holds(holds, base)
local flat = {}
for h = 1, #holds do
local hold, f = holds[h], #flat
flat[f + 1], flat[f + 2], flat[f + 3], flat[f + 4], flat[f + 5] =
hold.id, base - hold.taken, hold.expires - base, hold.cost, hold.kind
end
return flat
end
local widths = { [0] = 2, 3, 1, 2, 2, 0 }
local function unpack_window(base_ms, back) return back == -1 and 0 or base_ms - back end
local function pack_window(base_ms, start) return start == 0 and -1 or base_ms - start end
local function unpack_fields(code, base, base_ms, packed, p, f, o)
if code == 3 then
f[o], f[o + 1] = base + packed[p], packed[p + 1]
elseif code == 2 then
local log = {}
for e = 1, #packed[p], 2 do log[e], log[e + 1] = base - packed[p][e], packed[p][e + 1] end
f[o] = log
else
f[o], f[o + 1] = unpack_window(base_ms, packed[p]), packed[p + 1]
if code == 1 then f[o + 2] = packed[p + 2] end
end
end
local function fill(set, f)
for l = 1, #set do
local o = set[l][3]
for w = 0, widths[set[l][1]] - 1 do f[o + w] = 0 end
end
return f
end
local function adopt(st, s, sets)
local set = sets[s]
if st.s == s then return set end
if st.s then
local from, f = sets[st.s], fill(set, {})
for l = 1, #set do
for k = 1, #from do
if from[k][2] == set[l][2] then
for w = 0, widths[set[l][1]] - 1 do f[set[l][3] + w] = st.f[from[k][3] + w] end
end
end
end
st.f, st.s = f, s
return set
end
st.s = s
local packed, base = st.packed, st.base
if not packed then
st.f = fill(set, {})
return set
end
local f, base_ms, p, l, count = {}, floor(base / 1000), 2, 1, #packed
while p <= count do
local tag = packed[p]
if tag == 127 then
st.holds = unpack_holds(packed[p + 1], base)
break
end
local code = floor(tag / 16)
while l <= #set and widths[set[l][1]] == 0 do l = l + 1 end
local limit = set[l]
if limit and limit[2] == tag then
l = l + 1
else
limit = nil
for k = 1, #set do if set[k][2] == tag then limit = set[k] end end
end
if limit then unpack_fields(code, base, base_ms, packed, p + 1, f, limit[3]) end
p = p + 1 + widths[code]
end
for k = 1, #set do
if f[set[k][3]] == nil then
for w = 0, widths[set[k][1]] - 1 do f[set[k][3] + w] = 0 end
end
end
st.f = f
return set
end
local function load_states()
local raw = redis.call('MGET', unpack(KEYS))
local before, states, none = {}, {}, {}
for k = 1, #KEYS do
local value = raw[k]
if value then
local ok, packed = pcall(cmsgpack.unpack, value)
if ok and type(packed) == 'table' and type(packed[1]) == 'number' then
before[k] = value
states[k] = { base = packed[1], packed = packed }
else
before[k] = '\\194'
states[k] = false
end
else
before[k] = '\\192'
states[k] = { base = 0 }
none[#none + 1] = KEYS[k]
end
end
if #none > 0 and redis.call('EXISTS', unpack(none)) > 0 then
for k = 1, #KEYS do
if not raw[k] and redis.call('EXISTS', KEYS[k]) == 1 then
before[k] = '\\194'
states[k] = false
end
end
end
return before, states
end
local function touch(st, now)
st.base = now
st.dirty = true
end
local function clear(st)
st.packed, st.f, st.s, st.holds = nil, nil, nil, nil
st.dirty = true
st.base = 0
end
local function pack_state(st, set)
local f, base = st.f, st.base
local base_ms, packed, p = floor(base / 1000), { base }, 1
for l = 1, #set do
local code, tag, o = set[l][1], set[l][2], set[l][3]
if code == 3 then
packed[p + 1], packed[p + 2], packed[p + 3] = tag, max(0, f[o] - base), f[o + 1]
p = p + 3
elseif code == 2 then
local log, entries = f[o], {}
if log ~= 0 then
for e = 1, #log, 2 do entries[e], entries[e + 1] = base - log[e], log[e + 1] end
end
packed[p + 1], packed[p + 2] = tag, entries
p = p + 2
elseif code ~= 5 then
packed[p + 1], packed[p + 2], packed[p + 3] = tag, pack_window(base_ms, f[o]), f[o + 1]
p = p + 3
if code == 1 then
packed[p + 1] = f[o + 2]
p = p + 1
end
end
end
if st.holds and #st.holds > 0 then
packed[p + 1], packed[p + 2] = 127, pack_holds(st.holds, base)
end
return cmsgpack.pack(packed)
end
local function save_states(states, sets)
for k = 1, #states do
local st = states[k]
if st and st.dirty then
local last = 0
if st.s then
local set, now_ms = sets[st.s], floor(st.base / 1000)
for l = 1, #set do last = max(last, end_of(st, set[l], st.base, now_ms)) end
if st.holds then
for h = 1, #st.holds do last = max(last, st.holds[h].expires) end
end
end
local ttl = ceil((last - st.base) / 1000)
if ttl > 0 then
redis.call('SET', KEYS[k], pack_state(st, sets[st.s]), 'PX', ttl)
elseif st.packed or st.base == 0 then
redis.call('DEL', KEYS[k])
end
end
end
end
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock, 0) end
local sets = cjson.decode(ARGV[2])
if not calendars_cover(sets, clock) then return cmsgpack.pack(1, clock, 0) end
local before, states = load_states()
local asks = cjson.decode(ARGV[3])
local total, at, last = 0, 1, #asks
local function fit(st, set, cost, copies, now, now_ms)
if cost == 0 then return copies end
for l = 1, #set do
local room = room_of(st, set[l], now, now_ms)
if room < copies * cost then
copies = floor(room / cost)
if copies <= 0 then return 0 end
end
end
return copies
end
local function spend(st, set, units, now, now_ms)
for l = 1, #set do spend_of(st, set[l], units, now, now_ms) end
touch(st, now)
end
local function give_back(st, set, units, taken, now, now_ms)
for l = 1, #set do give_back_of(st, set[l], units, taken, now, now_ms) end
touch(st, now)
end
local function read_charges()
local count, charges, now, ours = asks[at], {}, clock, true
at = at + 1
for c = 1, count do
local st = states[asks[at]]
if st then
adopt(st, asks[at + 1], sets)
if st.base > now then now = st.base end
else
ours = false
end
charges[c] = { st = st, set = sets[asks[at + 1]], cost = asks[at + 2] }
at = at + 3
end
local now_ms = floor(now / 1000)
if ours then
for c = 1, count do expire_holds(charges[c].st, charges[c].set, now, now_ms, give_back) end
end
return charges, now, now_ms, ours
end
local function take_all(charges, id, ttl, kind, now, now_ms)
local known = 0
if id ~= '' then
for c = 1, #charges do if find_hold(charges[c].st, id) then known = known + 1 end end
if known == #charges then return 1 end
end
for c = 1, #charges do
local charge = charges[c]
if fit(charge.st, charge.set, charge.cost, 1, now, now_ms) < 1 then return 0 end
end
for c = 1, #charges do
local charge = charges[c]
spend(charge.st, charge.set, charge.cost, now, now_ms)
if id ~= '' and not find_hold(charge.st, id) then add_hold(charge.st, id, now, now + ttl, charge.cost, kind) end
end
return 1
end
while at <= last do
local kind = asks[at]
at = at + 1
if kind == 0 then
local st, s, cost = states[asks[at]], asks[at + 1], asks[at + 2]
if st then
local set = adopt(st, s, sets)
local now = st.base > clock and st.base or clock
local now_ms = floor(now / 1000)
if st.holds then expire_holds(st, set, now, now_ms, give_back) end
local granted = fit(st, set, cost, asks[at + 3], now, now_ms)
if granted > 0 then
spend(st, set, granted * cost, now, now_ms)
total = total + granted
end
end
at = at + 4
else
local charges, now, now_ms, ours = read_charges()
if kind == 1 then
if ours then total = total + take_all(charges, asks[at], asks[at + 1], asks[at + 2], now, now_ms) end
at = at + 3
elseif kind == 2 then
if ours then
for c = 1, #charges do
local charge = charges[c]
local hold = remove_hold(charge.st, asks[at])
if hold then
local unused = hold.cost - charge.cost
if unused > 0 then give_back(charge.st, charge.set, unused, hold.taken, now, now_ms)
elseif unused < 0 then spend(charge.st, charge.set, -unused, now, now_ms) end
touch(charge.st, now)
end
end
end
at = at + 1
elseif kind == 3 then
if ours then
for c = 1, #charges do
local hold = find_hold(charges[c].st, asks[at])
if hold then
charges[c].st.holds[hold].expires = now + asks[at + 1]
touch(charges[c].st, now)
end
end
end
at = at + 2
elseif kind == 4 then
local taken = asks[at] < 0 and now or asks[at]
if ours then
for c = 1, #charges do
local charge = charges[c]
give_back(charge.st, charge.set, charge.cost, taken, now, now_ms)
end
end
at = at + 1
elseif kind == 6 then
local set = charges[1].set
if ours then
for l = 1, #set do
if asks[at + l - 1] > 0 then spend_of(charges[1].st, set[l], asks[at + l - 1], now, now_ms) end
end
touch(charges[1].st, now)
end
at = at + #set
else
for c = 1, #charges do if charges[c].st then clear(charges[c].st) end end
end
end
end
save_states(states, sets)
return cmsgpack.pack(0, clock, total) .. table.concat(before)
`,
}
