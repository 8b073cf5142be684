// Generated from lua/*.lua by `npm run generate`. Do not edit.
import type { Script } from '../../redis/script.ts'

export const constants = {
  RAN: 0,
  NOT_RUN: 1,
  MARKER_SECONDS: 8640000,
  FIXED_WINDOW: 0,
  SLIDING_WINDOW: 1,
  SLIDING_LOG: 2,
  GCRA: 3,
  CALENDAR: 4,
  CONCURRENCY: 5,
  PACE: 6,
  SHARE: 7,
  ALGORITHM: 1,
  TAG: 2,
  FIRST: 3,
  AMOUNT: 4,
  PERIOD: 5,
  ALIGNED: 6,
  TICK: 6,
  INTERVAL: 6,
  BURST: 7,
  START: 6,
  MIDDLE: 7,
  END: 8,
  GUARANTEED: 6,
  LIFE: 7,
  NEXT_LIFE: 8,
  SEGMENT: 8,
  SEGMENT_END: 1,
  SEGMENT_FROM: 2,
  SEGMENT_TO: 3,
  PERIOD_START: 4,
  PERIOD_END: 5,
  SEGMENT_WIDTH: 6,
  CURVE_END: 1125899906842624,
  FARTHEST: 4503599627370496,
  LAST: 0,
  BASE: 1,
  HOLDS: 127,
  FIRST_WIDE_TAG: 128,
  MAX_NUMBER: 9007199254740992,
  MAX_KEPT: 32,
  HOLD_AGE: 1,
  HOLD_LEFT: 2,
  HOLD_COST: 3,
  HOLD_KIND: 4,
  HOLD_TAGS: 5,
  HOLD_WIDTH: 6,
  MAX_TAKINGS: 4,
  RESERVE: 0,
  ACQUIRE: 1,
  RECEIPT: 2,
  PENDING: 3,
  BLOCK: 4,
  STRIKES: 5,
  LAST_BLOCK: 6,
  PERMITS_ONLY: 7,
  JSON_ARGUMENTS: 2,
  TAKE_EACH: 0,
  TAKE: 1,
  SETTLE: 2,
  EXTEND: 3,
  REFUND: 4,
  RESET: 5,
  DEBIT: 6,
  RAISE: 7,
  RESIZE: 8,
  BLOCK_FOR: 9,
  BLOCK_SET: 1,
  BLOCK_COUNTS: 2,
  BLOCK_AFTER: 3,
  BLOCK_WITHIN: 4,
  BLOCK_LENGTH: 5,
  BLOCK_GROW: 6,
  BLOCK_MAX: 7,
  DENIALS: 0,
  CHARGES: 1,
  FIRST_SET: 2,
  WINDOW_WIDTH: 5,
  WINDOW_TAG: 1,
  WINDOW_AMOUNT: 2,
  WINDOW_LENGTH: 3,
  WINDOW_START: 4,
  RUN_WIDTH: 4,
  ONE_WINDOW_FIELDS: 4,
  PACED_FIELDS: 10,
  PACED: -1,
  PACED_TOTAL: 2,
  PACED_TAG: 3,
  PACED_AMOUNT: 4,
  PACED_BURST: 5,
  PACED_INTERVAL: 6,
  PACED_SEGMENT: 7,
  PACED_WIDTH: 19,
  EMPTY_ARRAY: 144,
  LONGEST_SHORT_ARRAY: 159,
  ARRAY_16: 220,
  ARRAY_32: 221,
  OTHER_FORMAT: 193,
  MARK_MS: 864000000,
} as const

export const continuity: Script = {
  name: 'continuity',
  sha1: '9776276cfa9b75c4c6f0b7eeff4ae784aa7fd3c0',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
local since = string.match(call('GET', KEYS[1]) or '', '^' .. run .. ' (%d+)$')
if not since then
since = string.format('%.0f', clock)
call('SET', KEYS[1], run .. ' ' .. since, 'EX', 8640000)
end
return cmsgpack.pack(0, clock, tonumber(since))
`,
}

export const decide: Script = {
  name: 'decide',
  sha1: '442ba1541593a5cda772ed6670347bef1b32fe9c',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local function fast_takes(call, clock, list)
local byte, floor, pack, unpack_limit = string.byte, math.floor, cmsgpack.pack, cmsgpack.unpack_limit
local clock_ms, packed_clock, last = floor(clock / 1000), pack(clock), #KEYS
local runs, last_run, windows, cost, copies = 1, 1, 1, 1, 1
local tag, amount, length, clock_age
if not list then
tag, amount, clock_age = ARGV[2] + 0, ARGV[3] + 0, -1
if ARGV[4] then cost, copies = ARGV[4] + 0, ARGV[5] + 0 end
local aligned
if tag < 128 then
local usual = tag % 4
length = usual == 1 and 60000 or usual == 2 and 3600000 or usual == 3 and 86400000 or 1000
aligned = tag >= 4
else
local rest = floor((tag - 128) / 128)
length, aligned = floor(rest / 2), rest % 2 == 1
end
if aligned then clock_age = clock_ms % length end
else
runs, last_run = list[1], #list
local set = 2
while set < runs do
local paced = list[set] == -1
local last = set + (paced and 19 or 5 * list[set])
if paced then
local segment = set + 7
if clock_ms < list[segment] or clock_ms >= list[segment + 1] then return nil end
end
for s = set, paced and set - 1 or last - 5, 5 do
local length, start = list[s + 3], list[s + 4]
if start > 0 and (clock_ms < start or clock_ms >= start + length) then return nil end
if start >= 0 then list[s + 4] = (clock_ms - start) % length end
end
set = last + 1
end
end
local raw, written, life, values, lives
if last == 1 then raw = call('GET', KEYS[1])
else raw, values, lives = call('MGET', unpack(KEYS)), {}, {} end
local total, first = 0, 1
for run = runs, last_run, 4 do
local set
if list then
last, set, cost, copies = list[run], list[run + 1], list[run + 2], list[run + 3]
windows = list[set]
end
if windows == -1 then
local max, min, ceil = math.max, math.min, math.ceil
local tag, total_amount, pace_tag = list[set + 1], list[set + 2], list[set + 3]
local amount, burst, interval = list[set + 4], list[set + 5], list[set + 6]
local s, at_ms = set + 7, clock_ms
local begins, ends, rises_from, rises_to = list[s], list[s + 1], list[s + 2], list[s + 3]
local position = rises_from + floor((at_ms - begins) / (ends - begins) * (rises_to - rises_from))
local most = min(amount, floor(amount * (position / 1125899906842624)) + burst)
local age, left = clock_ms - list[s + 4], list[s + 5] - clock_ms
for k = first, last do
local value, granted, count, spent = raw, copies, 0, 0
if values then value = raw[k] end
local full, before, from = 0, 0, 0
if value then
local rest, base, tag_1, age_1, count_1, tag_2, age_2, count_2, full_2, before_2, from_2 =
unpack_limit(value, 10, 1)
if byte(value) ~= 144 + 10 or rest ~= -1 or base <= 0 or base > clock then return nil end
if tag_1 ~= tag or tag_2 ~= pace_tag then return nil end
local since = age - (clock_ms - floor(base / 1000))
if not (age_1 >= -1 and age_2 >= -1) then return nil end
if age_1 >= 0 and age_1 == since then count = count_1 end
if age_2 >= 0 and age_2 == since then spent, full, before, from = count_2, full_2, before_2, from_2 end
if not (count >= 0 and count < 9007199254740992 and spent >= 0 and spent < 9007199254740992 and full >= 0 and full < 9007199254740992) then
return nil
end
if not (from >= 0 and from < 9007199254740992 and before >= 0 and before < 9007199254740992) then return nil end
if full > 0 and not (before > 0 and full >= from) then return nil end
end
local reached = max(position, from)
local debt = max(0, full - reached)
if before ~= interval and full ~= 0 then
debt = max(ceil(debt / before) * interval, ceil((full - from) / before) * interval - (reached - from))
debt = min(4503599627370496, debt)
end
local room = min(most - spent, floor((burst * interval - debt) / interval))
room = min(room, total_amount - count)
if room < granted * cost then granted = floor(room / cost) end
if granted > 0 then
local units = granted * cost
total = total + granted
full = min(4503599627370496, position + debt + units * interval)
written = '\\154' .. packed_clock
.. pack(tag, age, count + units, pace_tag, age, spent + units, full, interval, position)
life = (count == 0 or spent == 0) and left
if values then values[k], lives[k] = written, life end
end
end
elseif windows == 1 then
if list then
tag, amount = list[set + 1], list[set + 2]
length, clock_age = list[set + 3], list[set + 4]
end
for k = first, last do
local value, granted, age, count = raw, copies, -1, 0
if values then value = raw[k] end
if value then
local rest, base, stored_tag
rest, base, stored_tag, age, count = unpack_limit(value, 4, 1)
if byte(value) ~= 144 + 4 or rest ~= -1 or stored_tag ~= tag then return nil end
if not (base > 0 and base <= clock) then return nil end
if age >= 0 then age = age + clock_ms - floor(base / 1000) elseif age ~= -1 then return nil end
end
local current = age >= 0 and (age == clock_age or (clock_age < 0 and age < length))
if not current then age = clock_age < 0 and 0 or clock_age end
if not current then count = 0 elseif not (count >= 0 and count < 9007199254740992) then return nil end
if amount - count < granted * cost then granted = floor((amount - count) / cost) end
if granted > 0 then
total = total + granted
written = '\\148' .. packed_clock .. pack(tag, age, count + granted * cost)
life = not current and length - age
if values then values[k], lives[k] = written, life end
end
end
else
local size = 1 + 3 * windows
local array = 144 + size
local head = string.char(array) .. packed_clock
for k = first, last do
local value, p, ms = raw, nil, 0
if values then value = raw[k] end
if value then
p = { unpack_limit(value, size, 1) }
if byte(value) ~= array or p[1] ~= -1 or not (p[2] > 0 and p[2] <= clock) then return nil end
ms = clock_ms - floor(p[2] / 1000)
else
p = { -1, clock }
end
local granted, kept, begun, s = copies, 0, 0, set
for o = 3, size, 3 do
local tag, room = list[s + 1], list[s + 2]
local length, clock_age, age = list[s + 3], list[s + 4], -1
if value then
if p[o] ~= tag then return nil end
local stored = p[o + 1]
if stored >= 0 then age = stored + ms elseif stored ~= -1 then return nil end
end
local current = age >= 0 and (age == clock_age or (clock_age < 0 and age < length))
if not current then age = clock_age < 0 and 0 or clock_age end
if current then
local count = p[o + 2]
if not (count >= 0 and count < 9007199254740992) then return nil end
room = room - count
p[o + 1] = age
if length - age > kept then kept = length - age end
else
p[o], p[o + 1], p[o + 2] = tag, age, 0
if length - age > begun then begun = length - age end
end
if room < granted * cost then
granted = floor(room / cost)
if granted <= 0 then break end
end
s = s + 5
end
if granted > 0 then
total = total + granted
for o = 5, size + 1, 3 do p[o] = p[o] + granted * cost end
written, life = head .. pack(unpack(p, 3)), begun > kept and begun
if values then values[k], lives[k] = written, life end
end
end
end
first = last + 1
end
return raw, total, packed_clock, values or written, lives or life
end
local json = #ARGV == 2 and cjson.decode(ARGV[2])
if not json or type(json[1]) == 'number' then
local ran, raw, total, now, written, life = pcall(fast_takes, call, clock, json)
if ran and total and #KEYS == 1 then
if life then call('SET', KEYS[1], written, 'PX', life + 1)
elseif written then call('SET', KEYS[1], written, 'KEEPTTL') end
return '\\0' .. now .. (total == 1 and '\\1' or cmsgpack.pack(total)) .. (raw or '\\192')
end
local none = {}
for k = 1, ran and total and #KEYS or 0 do
if not raw[k] then raw[k], none[#none + 1] = '\\192', KEYS[k] end
end
if ran and total and (#none == 0 or call('EXISTS', unpack(none)) == 0) then
for k = 1, #KEYS do
if life[k] then call('SET', KEYS[k], written[k], 'PX', life[k] + 1)
elseif written[k] then call('SET', KEYS[k], written[k], 'KEEPTTL') end
end
return '\\0' .. now .. cmsgpack.pack(total) .. table.concat(raw)
end
end
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local widths = {
[0] = 2, [1] = 3, [2] = 1, [3] = 2, [4] = 2, [6] = 5,
[7] = 5,
}
local usual_periods = { [0] = 1000, 60000, 3600000, 86400000 }
local longest_days = { [0] = 2, 8, 32 }
local function algorithm_of(tag)
return tag < 128 and floor(tag / 16) or tag % 8
end
local limits_by_tag = {}
local function limit_of_tag(tag)
local limit = limits_by_tag[tag]
if limit then return limit end
local algorithm, usual = algorithm_of(tag), tag < 128
local rest = usual and tag % 16 or floor((tag - 128) / 128)
local period, aligned
if algorithm == 4 or algorithm == 6 then
algorithm, period, aligned = 0, (longest_days[rest % 4] or 400) * 86400000, 0
elseif usual then
period, aligned = usual_periods[rest % 4], rest >= 4 and 1 or 0
else
period, aligned = floor(rest / 2), rest % 2
end
limit = { algorithm, tag, 2, 0, period, aligned, of_pace = algorithm_of(tag) == 6 }
limits_by_tag[tag] = limit
return limit
end
local function numbers(list, first, count)
return unpack(list, first, first + count - 1)
end
local function general_window(list, s, first)
local tag, amount, length, start, next_length = numbers(list, s + 1, 5)
if start <= 0 then return { 0, tag, first, amount, length, start + 1 } end
return { 4, tag, first, amount, length, start, start + length, start + length + next_length }
end
local function general_pace(list, set)
local tag, total, pace_tag, amount, burst, interval = numbers(list, set + 1, 7 - 1)
local segment = set + 7
local starts, ends = list[segment + 4], list[segment + 5]
return {
{ 4, tag, 1 + 2, total, ends - starts, starts, ends, list[set + 19] },
{ 6, pace_tag, 1 + 5, amount, ends - starts, interval, burst, numbers(list, segment, 2 * 6) },
}
end
local function general_usual()
local tag = ARGV[2] + 0
local window = limit_of_tag(tag)
local set = { { 0, tag, 1 + 2, ARGV[3] + 0, window[5], window[6] } }
return { set }, { 0, 1, #KEYS, 1, (ARGV[4] or 1) + 0, (ARGV[5] or 1) + 0 }
end
local function general_form(json)
if not json then return general_usual() end
if type(json[1]) == 'table' then return json[1], json[2], json[3] end
local list = cjson.decode(ARGV[2])
local sets, asks, indices, set, first, runs = {}, {}, {}, 2, 1, list[1]
while set < runs do
local limits = {}
indices[set] = #sets + 1
if list[set] == -1 then
sets[#sets + 1], set = general_pace(list, set), set + 19 + 1
else
for w = 1, list[set] do limits[w] = general_window(list, set + (w - 1) * 5, 1 + 3 * w - 1) end
sets[#sets + 1], set = limits, set + 5 * list[set] + 1
end
end
for run = runs, #list, 4 do
local last, set, cost, copies = numbers(list, run, 4)
for _, number in ipairs({ 0, first, last, indices[set], cost, copies }) do asks[#asks + 1] = number end
first = last + 1
end
return sets, asks
end
local function window_at(limit, now_ms)
if limit[1] == 4 then
if now_ms < limit[7] then return limit[7] - limit[6], now_ms - limit[6] end
return limit[8] - limit[7], now_ms - limit[7]
end
return limit[5], limit[6] == 1 and now_ms % limit[5] or -1
end
local function shared_window(p, limit, now_ms)
local o = limit.of[3]
local age, length, clock_age = p[o], window_at(limit.of, now_ms)
local current = age >= 0 and (age == clock_age or (clock_age < 0 and age < length))
if not current then age = clock_age < 0 and 0 or clock_age end
return age, limit[4] - (current and p[o + 1] or 0)
end
local function carried_over(p, o)
return p[o] >= 0 and p[o] < p[o + 1] and p[o + 4] or 0
end
local function share_room(p, limit, now_ms)
local age, room = shared_window(p, limit, now_ms)
local reserved = 0
for _, kept in ipairs(p.kept or {}) do
if algorithm_of(kept[1]) == 7 then
local is_of_window = kept[2] == age and age < kept[3]
reserved = reserved + (is_of_window and max(0, kept[5] - kept[4]) or carried_over(kept, 2))
end
end
return max(0, room - min(reserved, limit[4] - limit[6]))
end
local function begin_share(p, limit, now_ms)
local o, age = limit[3], shared_window(p, limit, now_ms)
if p[o] == age then return end
local is_next = limit.of[1] == 4 and now_ms >= limit.of[7]
p[o + 3] = min(limit[6], carried_over(p, o))
p[o], p[o + 1], p[o + 2], p[o + 4] = age, is_next and limit[8] or limit[7], 0, 0
end
local function spend_share(p, limit, units, now_ms)
begin_share(p, limit, now_ms)
local o = limit[3]
p[o + 2] = p[o + 2] + units
p[o + 4] = max(p[o + 4], min(p[o + 2], limit[6]))
end
local function deny_share(p, set, cost, now_ms)
local limit = set.shared
if not limit or share_room(p, limit, now_ms) >= cost then return false end
local o, age = limit[3], shared_window(p, limit, now_ms)
local spent = p[o] == age and p[o + 2] or 0
if spent + cost > limit[6] or (p[o] == age and p[o + 4] == limit[6]) then return false end
begin_share(p, limit, now_ms)
p[o + 4] = limit[6]
return true
end
local function two_counts(p, o, limit, now_ms)
local age = now_ms % limit[5]
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
for h = 1, #holds, 6 do
local kind = holds[h + 4]
if kind ~= 2 and kind < 4 and holds[h + 2] > 0 then held = held + holds[h + 3] end
end
end
return held
end
local function paced(p, limit, at_ms)
local o, amount, burst, interval = limit[3], limit[4], limit[7], limit[6]
local s = at_ms < limit[8 + 1] and 8 or 8 + 6
local begins, ends, rises_from, rises_to = unpack(limit, s, s + 3)
local position = rises_from + floor((at_ms - begins) / (ends - begins) * (rises_to - rises_from))
local most = min(amount, floor(amount * (position / 1125899906842624)) + burst)
local age, spent, full, before, from = at_ms - limit[s + 4], 0, 0, 0, 0
if p[o] == age then spent, full, before, from = unpack(p, o + 1, o + 4) end
local reached = max(position, from)
local debt = max(0, full - reached)
if before ~= interval and full ~= 0 then
debt = max(ceil(debt / before) * interval, ceil((full - from) / before) * interval - (reached - from))
debt = min(4503599627370496, debt)
end
local room = min(most - spent, floor((burst * interval - debt) / interval))
return spent, debt, position, age, s, room
end
local function fit(p, set, cost, copies, now_ms)
if cost == 0 then return copies end
local holds, charges = p[set[0] + 2], set.block and set.block[2] == 1
if charges then copies = min(copies, set.block[3]) end
for h = 1, holds and #holds or 0, 6 do
if holds[h + 4] == 4 then return 0 end
if charges and holds[h + 4] == 5 then
copies = min(copies, max(1, set.block[3] - holds[h + 3]))
end
end
for l = 1, #set do
local limit = set[l]
local algorithm, o, room = limit[1], limit[3], limit[4]
if algorithm == 3 then
room = limit[7] - ceil(to_full(p, o, limit) / limit[6])
elseif algorithm == 0 or algorithm == 4 then
local age, length, clock_age = p[o], window_at(limit, now_ms)
local current = age >= 0 and (age == clock_age or (clock_age < 0 and age < length))
if not current then age = clock_age < 0 and 0 or clock_age end
if current then room = room - p[o + 1] end
elseif algorithm == 1 then
local count, previous, age = two_counts(p, o, limit, now_ms)
room = floor(room - count - (previous * (limit[5] - age)) / limit[5])
elseif algorithm == 6 then
local _, _, _, _, _, room_of_pace = paced(p, limit, now_ms)
room = room_of_pace
elseif algorithm == 7 then
room = share_room(p, limit, now_ms)
elseif algorithm == 2 then
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
local algorithm, o = limit[1], limit[3]
if algorithm == 3 then
p[o] = to_full(p, o, limit) + units * limit[6]
p[o + 1] = limit[6]
elseif algorithm == 0 or algorithm == 4 then
local age, length, clock_age = p[o], window_at(limit, now_ms)
local current = age >= 0 and (age == clock_age or (clock_age < 0 and age < length))
if not current then age = clock_age < 0 and 0 or clock_age end
p[o], p[o + 1] = age, current and p[o + 1] + units or units
elseif algorithm == 1 then
local count, previous, age = two_counts(p, o, limit, now_ms)
p[o], p[o + 1], p[o + 2] = age, count + units, previous
elseif algorithm == 6 then
local interval, count, debt, position, age = limit[6], paced(p, limit, now_ms)
p[o], p[o + 1], p[o + 2] = age, count + units, min(4503599627370496, position + debt + units * interval)
p[o + 3], p[o + 4] = interval, position
elseif algorithm == 7 then
spend_share(p, limit, units, now_ms)
elseif algorithm == 2 and units > 0 then
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
local function give_back_to_log(log, limit, units, taken, now)
local tick = ceil(limit[5] / 1000) * 1000
local youngest, at_tick = now - taken, now - ceil(taken / tick) * tick
for e = #log - 1, 1, -2 do
if units > 0 and (log[e] >= youngest or log[e] == at_tick) then
local back = min(units, log[e + 1])
units = units - back
log[e + 1] = log[e + 1] - back
if log[e + 1] == 0 then
table.remove(log, e + 1)
table.remove(log, e)
end
end
end
end
local function give_back(p, limit, units, taken, held, now, now_ms)
local algorithm, o = limit[1], limit[3]
if algorithm == 3 then
p[o] = max(0, p[o] - max(0, units * p[o + 1] - held))
elseif algorithm == 0 or algorithm == 4 then
local age, length, clock_age = p[o], window_at(limit, now_ms)
local current = age >= 0 and (age == clock_age or (clock_age < 0 and age < length))
if not current then age = clock_age < 0 and 0 or clock_age end
if current and now_ms - age <= floor(taken / 1000) then
p[o + 1] = max(0, p[o + 1] - units)
if p[o + 1] == 0 and not limit.of_pace then p[o] = -1 end
end
elseif algorithm == 1 then
local count, previous, age = two_counts(p, o, limit, now_ms)
local start, taken_start = now_ms - age, floor(floor(taken / 1000) / limit[5]) * limit[5]
if taken_start == start then count = max(0, count - units) end
if taken_start == start - limit[5] then previous = max(0, previous - units) end
p[o], p[o + 1], p[o + 2] = age, count, previous
elseif algorithm == 6 then
local count, _, _, age, s = paced(p, limit, now_ms)
if p[o] == age and floor(taken / 1000) >= limit[s + 4] then
p[o + 1] = max(0, count - units)
end
elseif algorithm == 7 then
if p[o] >= 0 and now_ms - p[o] <= floor(taken / 1000) then p[o + 2] = max(0, p[o + 2] - units) end
elseif algorithm == 2 then
p[o] = live_entries(p[o], limit)
give_back_to_log(p[o], limit, units, taken, now)
end
end
local function life(p, limit, now_ms)
local algorithm, o = limit[1], limit[3]
if algorithm == 3 then
return ceil(p[o] / 1000)
elseif algorithm == 0 or algorithm == 4 then
local age, length, clock_age = p[o], window_at(limit, now_ms)
local current = age >= 0 and (age == clock_age or (clock_age < 0 and age < length))
if not current then age = clock_age < 0 and 0 or clock_age end
return current and length - age or 0
elseif algorithm == 1 then
local count, previous, age = two_counts(p, o, limit, now_ms)
return count > 0 and 2 * limit[5] - age or previous > 0 and limit[5] - age or 0
elseif algorithm == 6 then
local _, _, _, age, s = paced(p, limit, now_ms)
return p[o] == age and limit[s + 5] - now_ms or 0
elseif algorithm == 7 then
return p[o] >= 0 and max(0, p[o + 1] - p[o]) or 0
elseif algorithm == 2 then
local log = p[o]
return #log > 0 and ceil((limit[5] * 1000 - log[#log - 1]) / 1000) or 0
end
return 0
end
local function calendars_cover(sets, now)
for s = 1, #sets do
for l = 1, #sets[s] do
local limit = sets[s][l]
if limit[1] == 6 then
local second = 8 + 6
if now < limit[8] * 1000 or now >= limit[second + 1] * 1000 then return false end
end
if limit[1] == 4 and (now < limit[6] * 1000 or now >= limit[8] * 1000) then return false end
end
end
return true
end
local function has_permits(set)
for l = 1, #set do if set[l][1] == 5 then return true end end
return false
end
local function find_takings(p, set, id)
local holds, takings, cost = p[set[0] + 2], {}, 0
for h = 1, holds and #holds or 0, 6 do
if holds[h] == id then
takings[#takings + 1] = h
cost = cost + holds[h + 3]
end
end
return takings, cost
end
local function add_hold(p, set, id, ttl, cost, kind, tags)
local last = set[0]
if not p[last + 1] then p[last + 1], p[last + 2] = 127, {} end
local holds = p[last + 2]
local h = #holds + 1
if not tags then
tags = {}
for l = 1, #set do tags[l] = set[l][2] end
end
holds[h], holds[h + 1], holds[h + 2], holds[h + 3] = id, 0, ttl, cost
holds[h + 4], holds[h + 5] = kind, tags
end
local function grow_hold(p, set, takings, cost)
if cost == 0 then return end
local holds, first, newest = p[set[0] + 2], takings[1], takings[#takings]
if #takings < 4 then
add_hold(p, set, holds[first], holds[first + 2], cost, holds[first + 4])
return
end
local present, tags = {}, {}
for l = 1, #set do present[set[l][2]] = true end
for _, tag in ipairs(holds[newest + 5]) do if present[tag] then tags[#tags + 1] = tag end end
holds[newest + 3], holds[newest + 5] = holds[newest + 3] + cost, tags
end
local function remove_hold(p, set, h)
local holds = p[set[0] + 2]
local removed = { unpack(holds, h + 1, h + 6 - 1) }
for _ = 1, 6 do table.remove(holds, h) end
if #holds == 0 then p[set[0] + 1], p[set[0] + 2] = nil, nil end
return removed
end
local function give_back_held(p, set, tags, units, taken, held, now, now_ms)
local is_held = {}
for t = 1, #tags do is_held[tags[t]] = true end
for l = 1, #set do
if is_held[set[l][2]] then give_back(p, set[l], units, taken, held, now, now_ms) end
end
for _, kept in ipairs(p.kept or {}) do
if is_held[kept[1]] then give_back(kept, limit_of_tag(kept[1]), units, taken, held, now, now_ms) end
end
end
local function give_back_last(p, set, takings, units, now, now_ms)
local holds = p[set[0] + 2]
for t = #takings, 1, -1 do
local h = takings[t]
local back, age = min(units, holds[h + 3]), holds[h + 1]
if back > 0 then
give_back_held(p, set, holds[h + 5], back, now - age, age, now, now_ms)
holds[h + 3] = holds[h + 3] - back
units = units - back
end
end
end
local function expire_holds(p, set, now, now_ms)
while true do
local holds, first = p[set[0] + 2], nil
for h = 1, holds and #holds or 0, 6 do
local left = holds[h + 2]
if left <= 0 and not (first and holds[first + 2] <= left) then first = h end
end
if not first then return end
local hold = remove_hold(p, set, first)
local age, overdue, kind = hold[1], -hold[2], hold[4]
if kind ~= 1 then
give_back_held(p, set, hold[5], hold[3], now - age, age - overdue, now, now_ms)
end
end
end
local function find_mark(p, set, kind)
local holds = p[set[0] + 2]
for h = 1, holds and #holds or 0, 6 do
if holds[h + 4] == kind then return h end
end
end
local function unblock(p, set)
local holds = p[set[0] + 2]
for h = holds and #holds - 6 + 1 or 0, 1, -6 do
if holds[h] == '' then remove_hold(p, set, h) end
end
end
local function strike(p, set, counts, times)
local terms = set.block
if not terms or terms[2] ~= counts or times <= 0 or find_mark(p, set, 4) then return false end
local strikes, count = find_mark(p, set, 5), times
local holds = p[set[0] + 2]
if strikes then count = count + holds[strikes + 3] end
if count < terms[3] then
if strikes then holds[strikes + 3] = count
else add_hold(p, set, '', terms[4] * 1000, count, 5, {}) end
return true
end
local last_block, length = find_mark(p, set, 6), terms[5]
if last_block then length = min(terms[7], floor(holds[last_block + 3] * terms[6])) end
unblock(p, set)
add_hold(p, set, '', length * 1000, length, 4, {})
if terms[6] > 1 then add_hold(p, set, '', (length + terms[7]) * 1000, length, 6, {}) end
return true
end
local function block_for(p, set, us)
if us == 0 and not find_mark(p, set, 4) then return 0 end
unblock(p, set)
if us > 0 then add_hold(p, set, '', us, ceil(us / 1000), 4, {}) end
return 1
end
local function add_fresh(p, limit)
local algorithm, o = limit[1], limit[3]
if algorithm == 5 then return end
p[o - 1] = limit[2]
if algorithm == 3 then p[o], p[o + 1] = 0, 0
elseif algorithm == 2 then p[o] = {}
else
p[o], p[o + 1] = -1, 0
if algorithm == 1 then p[o + 2] = 0 end
if algorithm == 6 or algorithm == 7 then p[o + 2], p[o + 3], p[o + 4] = 0, 0, 0 end
end
end
local function measure(sets)
local shared = false
for s = 1, #sets do
local last = 1
for l = 1, #sets[s] do
local limit = sets[s][l]
local width = widths[limit[1]]
if width then last = limit[3] + width - 1 end
if limit[1] == 7 then
limit.of = sets[s][l - 1]
sets[s].shared, shared = limit, true
end
end
sets[s][0] = last
end
return shared
end
local function fresh(set, now)
local p = { now }
for l = 1, #set do add_fresh(p, set[l]) end
return p
end
local function is_laid_out(p, set)
local after = p[set[0] + 1]
if after ~= nil and after ~= 127 then return false end
for l = 1, #set do
if set[l][1] ~= 5 and p[set[l][3] - 1] ~= set[l][2] then return false end
end
return true
end
local function lay_out(p, set)
if is_laid_out(p, set) then return p end
local to, firsts, kept, from = fresh(set, p[1]), {}, {}, 2
for l = 1, #set do firsts[set[l][2]] = set[l][3] end
local function move(source, at, width)
local first = firsts[source[at]]
if first then
for w = 1, width do to[first + w - 1] = source[at + w] end
else
kept[#kept + 1] = { unpack(source, at, at + width) }
end
end
while p[from] and p[from] ~= 127 do
local width = widths[algorithm_of(p[from])]
move(p, from, width)
from = from + 1 + width
end
for _, one in ipairs(p.kept or {}) do move(one, 1, #one - 1) end
if p[from] == 127 then to[set[0] + 1], to[set[0] + 2] = 127, p[from + 1] end
if #kept > 0 then to.kept = kept end
return to
end
local function rebase_limit(p, limit, us, ms)
local algorithm, o = limit[1], limit[3]
if algorithm == 3 then
p[o] = p[o] > us and p[o] - us or 0
elseif algorithm == 2 then
local log = p[o]
for e = 1, #log, 2 do log[e] = log[e] + us end
elseif algorithm ~= 5 and p[o] >= 0 then
p[o] = p[o] + ms
end
end
local function rebase(p, set, now)
local base = p[1]
if base == now then return end
local us, ms = now - base, floor(now / 1000) - floor(base / 1000)
p[1] = now
for l = 1, #set do rebase_limit(p, set[l], us, ms) end
if p.kept then
for _, kept in ipairs(p.kept) do rebase_limit(kept, limit_of_tag(kept[1]), us, ms) end
end
local holds = p[set[0] + 2]
if holds then
for h = 1, #holds, 6 do
holds[h + 1] = holds[h + 1] + us
holds[h + 2] = holds[h + 2] - us
end
end
end
local function kept_to_store(p, now_ms)
local live, lives = {}, {}
for _, kept in ipairs(p.kept) do
lives[kept] = life(kept, limit_of_tag(kept[1]), now_ms)
if lives[kept] > 0 then live[#live + 1] = kept end
end
if #live > 32 then
table.sort(live, function(a, b)
if lives[a] ~= lives[b] then return lives[a] > lives[b] end
return a[1] < b[1]
end)
end
return live, lives
end
local function pack_state(p, set)
local now_ms, last, longest = floor(p[1] / 1000), set[0], 0
for l = 1, #set do longest = max(longest, life(p, set[l], now_ms)) end
local holds = p[last + 2]
if holds then
for h = 1, #holds, 6 do longest = max(longest, ceil(holds[h + 2] / 1000)) end
end
if p.kept then
local live, lives = kept_to_store(p, now_ms)
p.kept = nil
for i = 1, min(#live, 32) do
longest = max(longest, lives[live[i]])
for f = 1, #live[i] do
last = last + 1
p[last] = live[i][f]
end
end
if holds then p[last + 1], p[last + 2] = 127, holds end
end
return cmsgpack.pack(p), longest
end
local function is_count(n)
return type(n) == 'number' and n >= 0 and n < 9007199254740992
end
local function is_log(log)
if type(log) ~= 'table' then return false end
for e = 1, #log, 2 do
if type(log[e]) ~= 'number' or not is_count(log[e] + 9007199254740992 / 2) or not is_count(log[e + 1]) then return false end
end
return true
end
local function are_holds(holds)
if type(holds) ~= 'table' or #holds % 6 ~= 0 then return false end
for h = 1, #holds, 6 do
local left, kind, tags = holds[h + 2], holds[h + 4], holds[h + 5]
if type(holds[h]) ~= 'string' or not is_count(holds[h + 1]) or not is_count(holds[h + 3])
or type(left) ~= 'number' or not is_count(left + 9007199254740992 / 2)
or not is_count(kind) or kind > 6 or kind % 1 ~= 0 or type(tags) ~= 'table' then return false end
end
return true
end
local function is_bucket(full, interval, from)
return is_count(interval) and is_count(from) and (full == 0 or (interval > 0 and full >= from))
end
local function is_sound(p)
local at, count = 2, 0
while p[at] ~= nil and p[at] ~= 127 do
local tag, a, b = p[at], p[at + 1], p[at + 2]
local algorithm = is_count(tag) and algorithm_of(tag)
if algorithm == 2 then
if not is_log(a) then return false end
elseif algorithm == 3 then
if not (is_count(a) and is_count(b)) or (a > 0 and b == 0) then return false end
elseif algorithm == 0 or algorithm == 4 or algorithm == 1 or algorithm == 6
or algorithm == 7 then
if not (is_count(b) and (a == -1 or is_count(a))) then return false end
if (algorithm == 1 or algorithm == 6) and not is_count(p[at + 3]) then return false end
if algorithm == 7 and not (is_count(p[at + 3]) and is_count(p[at + 4]) and is_count(p[at + 5])) then
return false
end
if algorithm == 6 and not is_bucket(p[at + 3], p[at + 4], p[at + 5]) then return false end
else
return false
end
at = at + 1 + widths[algorithm]
end
if p[at] == 127 then
if not are_holds(p[at + 1]) then return false end
at = at + 2
end
for _ in pairs(p) do count = count + 1 end
return count == at - 1
end
local function unpack_state(value)
local first = value:byte()
if first < 144 or (first > 159 and first ~= 220 and first ~= 221) then return false end
local rest, p = cmsgpack.unpack_one(value)
return rest == -1 and type(p) == 'table' and is_count(p[1]) and p[1] > 0 and is_sound(p) and p
end
local function unpack_all(raw, states)
for k = 1, #KEYS do
if raw[k] then states[k] = unpack_state(raw[k]) end
end
end
local function load_states()
local raw, states, none = call('MGET', unpack(KEYS)), {}, {}
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
raw[k], states[k] = raw[k]:byte() == 193 and '\\195' or '\\194', false
end
end
if #none > 0 and call('EXISTS', unpack(none)) > 0 then
for k = 1, #KEYS do
if states[k] == nil and call('EXISTS', KEYS[k]) == 1 then raw[k], states[k] = '\\194', false end
end
end
return raw, states
end
local sets, asks, blocks = general_form(json)
for _, terms in ipairs(blocks or {}) do sets[terms[1]].block = terms end
if not calendars_cover(sets, clock) then return cmsgpack.pack(1, clock) end
local notes_denials = measure(sets) or blocks
local before, states = load_states()
local total, at, last = 0, 1, #asks
local clock_ms = floor(clock / 1000)
local laid_out, dirty = {}, {}
local function subject(k, s)
local p = states[k]
if p == false or laid_out[k] == s then return p end
p = p and lay_out(p, sets[s]) or fresh(sets[s], clock)
states[k], laid_out[k] = p, s
return p
end
local function take_one(k, s, cost, copies)
local p, set = subject(k, s), sets[s]
if not p then return 0 end
local now, now_ms = clock, clock_ms
if p[1] > clock then now, now_ms = p[1], floor(p[1] / 1000) end
rebase(p, set, now)
if p[set[0] + 1] then expire_holds(p, set, now, now_ms) end
local granted = fit(p, set, cost, copies, now_ms)
if granted > 0 then
spend(p, set, granted * cost, now, now_ms)
dirty[k] = true
if cost > 0 then strike(p, set, 1, granted) end
end
if strike(p, set, 0, copies - granted) then dirty[k] = true end
if granted < copies and deny_share(p, set, cost, now_ms) then dirty[k] = true end
return granted
end
local function read_charges()
local first, count, charges, now, ours = at + 1, asks[at], {}, clock, true
at = first + count * 3
for c = 1, count do
local i = first + c * 3 - 3
local k, s = asks[i], asks[i + 1]
charges[c] = { k = k, set = sets[s], cost = asks[i + 2] }
ours = ours and states[k] ~= false
if ours then charges[c].p = subject(k, s) end
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
local function find_dues(charges, id, kind)
local to_hold, known = 0, 0
for c = 1, #charges do
local charge = charges[c]
charge.held = kind ~= 7 or has_permits(charge.set)
charge.takings, charge.known = find_takings(charge.p, charge.set, id)
if charge.held then
to_hold = to_hold + 1
if charge.takings[1] then known = known + 1 end
end
end
local repeated = to_hold > 0 and known == to_hold
for c = 1, #charges do
local charge = charges[c]
if charge.takings[1] then
charge.cost = max(0, charge.cost - charge.known)
elseif repeated then
charge.cost = 0
end
end
end
local function take_all(charges, id, ttl, kind, now, now_ms)
if id ~= '' then find_dues(charges, id, kind) end
if kind == 7 then kind = 1 end
local fits = true
for c = 1, #charges do
local charge = charges[c]
if fit(charge.p, charge.set, charge.cost, 1, now_ms) < 1 then
if not notes_denials then return 0 end
fits = false
if strike(charge.p, charge.set, 0, 1) then dirty[charge.k] = true end
if deny_share(charge.p, charge.set, charge.cost, now_ms) then dirty[charge.k] = true end
end
end
if not fits then return 0 end
for c = 1, #charges do
local charge = charges[c]
spend(charge.p, charge.set, charge.cost, now, now_ms)
if charge.held then
if charge.takings[1] then
grow_hold(charge.p, charge.set, charge.takings, charge.cost)
else
add_hold(charge.p, charge.set, id, ttl, charge.cost, kind)
end
elseif charge.cost > 0 then
strike(charge.p, charge.set, 1, 1)
end
end
return 1
end
local function settle(charge, id, now, now_ms)
local p, set = charge.p, charge.set
local takings, cost = find_takings(p, set, id)
if #takings == 0 then return 0 end
if charge.cost > cost then spend(p, set, charge.cost - cost, now, now_ms)
else give_back_last(p, set, takings, cost - charge.cost, now, now_ms) end
for t = #takings, 1, -1 do remove_hold(p, set, takings[t]) end
if charge.cost > 0 then strike(p, set, 1, 1) end
return 1
end
local function extend(charge, id, ttl)
local holds, takings = charge.p[charge.set[0] + 2], find_takings(charge.p, charge.set, id)
for _, h in ipairs(takings) do
holds[h + 2] = ttl
if holds[h + 4] == 3 then holds[h + 4] = 1 end
end
return min(1, #takings)
end
local function resize(charge, id, now, now_ms)
local p, set = charge.p, charge.set
local takings, cost = find_takings(p, set, id)
if #takings == 0 then return 0 end
if charge.cost > cost then
spend(p, set, charge.cost - cost, now, now_ms)
grow_hold(p, set, takings, charge.cost - cost)
return 1
end
give_back_last(p, set, takings, cost - charge.cost, now, now_ms)
for t = #takings, 2, -1 do
if p[set[0] + 2][takings[t] + 3] == 0 then remove_hold(p, set, takings[t]) end
end
return 1
end
local function refund(charge, taken, now, now_ms)
if taken < 0 or taken > now then taken = now end
for l = 1, #charge.set do give_back(charge.p, charge.set[l], charge.cost, taken, now - taken, now, now_ms) end
return 1
end
local function debit(charge, now, now_ms)
for l = 1, #charge.set do
local units = asks[at + l - 1]
if units > 0 then spend_one(charge.p, charge.set[l], units, now, now_ms) end
end
end
local function raise(charge, units, now_ms)
for l = 1, #charge.set do
local limit = charge.set[l]
if limit[1] == 4 and units > 0 then
local p, o, length, clock_age = charge.p, limit[3], window_at(limit, now_ms)
p[o], p[o + 1] = clock_age, p[o] == clock_age and max(units, p[o + 1]) or units
elseif limit[1] == 6 and units > 0 then
local p, o, count, _, _, age = charge.p, limit[3], paced(charge.p, limit, now_ms)
if p[o] ~= age then p[o + 2], p[o + 3], p[o + 4] = 0, 0, 0 end
p[o], p[o + 1] = age, max(units, count)
end
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
if kind == 5 then
done = 1
elseif kind == 1 then
if ours then
done = take_all(charges, a, b, c, now, now_ms)
total = total + done
end
at = at + 3
elseif kind == 6 then
if ours then debit(charges[1], now, now_ms) end
at = at + #charges[1].set
elseif kind == 7 then
if ours then raise(charges[1], a, now_ms) end
at = at + 1
else
done = 0
for i = 1, ours and #charges or 0 do
if kind == 2 then done = done + settle(charges[i], a, now, now_ms)
elseif kind == 8 then done = done + resize(charges[i], a, now, now_ms)
elseif kind == 9 then done = done + block_for(charges[i].p, charges[i].set, a)
elseif kind == 3 then done = done + extend(charges[i], a, b)
else done = done + refund(charges[i], a, now, now_ms) end
end
at = at + (kind == 3 and 2 or 1)
end
for i = 1, done > 0 and #charges or 0 do
local k = charges[i].k
dirty[k] = true
if kind == 5 then states[k], laid_out[k] = nil, nil end
end
end
end
for k = 1, #KEYS do
if dirty[k] then
local p, value, life_ms = states[k], nil, 0
if p then value, life_ms = pack_state(p, sets[laid_out[k]]) end
if life_ms > 0 then
if p[1] > clock then life_ms = life_ms + ceil((p[1] - clock) / 1000) end
call('SET', KEYS[k], value, 'PX', life_ms + 1)
else
call('DEL', KEYS[k])
end
end
end
return cmsgpack.pack(0, clock, total) .. table.concat(before)
`,
}

export const line: Script = {
  name: 'line',
  sha1: 'f3b4d76fc513a186043d76517aca81008e666197',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local me, ms, others = ARGV[2], ARGV[3] + 0, {}
local fields = call('HGETALL', KEYS[1])
for f = 1, #fields, 2 do
if fields[f] ~= me then
local entry = cmsgpack.unpack(fields[f + 1])
if entry[1] <= clock then
call('HDEL', KEYS[1], fields[f])
else
local waits = {}
for w = 2, #entry, 2 do waits[w - 1], waits[w] = entry[w], clock - entry[w + 1] end
others[#others + 1] = waits
end
end
end
if ARGV[4] then
local entry = { clock + ms * 1000 }
for a = 4, #ARGV, 2 do entry[#entry + 1], entry[#entry + 2] = ARGV[a] + 0, clock - ARGV[a + 1] end
call('HSET', KEYS[1], me, cmsgpack.pack(entry))
if call('PTTL', KEYS[1]) < ms then call('PEXPIRE', KEYS[1], ms) end
else
call('HDEL', KEYS[1], me)
end
return cmsgpack.pack(0, clock, others)
`,
}

export const lossMark: Script = {
  name: 'lossMark',
  sha1: '7dab83674875478c3d407bc75f98ef845cbcc090',
  source: `local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > ARGV[1] + 0 then return cmsgpack.pack(1, clock) end
local mark = tonumber(call('GET', KEYS[1]) or '')
if not mark then
mark = clock
call('SET', KEYS[1], string.format('%.0f', mark))
end
call('PEXPIRE', KEYS[1], 864000000)
return cmsgpack.pack(0, clock, mark)
`,
}
