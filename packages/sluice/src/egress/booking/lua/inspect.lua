-- Reads the state of an upstream without changing anything.
--
-- KEYS      those of the upstream, see exchange.lua
-- ARGV[2]   JSON: {}
-- Reply after status and time: JSON, or an empty text when there is no such upstream.

--- @include ../../../redis/lua/deadline.lua
--- @include ../../../redis/lua/format.lua
--- @const GUARD_US = 2000
--- @const MOST_SHOWN = 1000
--- @include state.lua
local now, time
--- @include log.lua

if not has_state then return cmsgpack.pack(RAN, clock, '') end
-- For people the server's clock is good enough.
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
  local name = caller .. '\0' .. tenant
  if not at_of[name] then
    at_of[name] = #shown.queue + 1
    shown.queue[at_of[name]] = { caller = caller, tenant = tenant, waiting = 0, sinceMs = 0 }
  end
  local q = shown.queue[at_of[name]]
  q.waiting, q.sinceMs = q.waiting + 1, max(q.sinceMs, max(0, floor(time / 1000) - order))
end
for _, member in ipairs(call('ZRANGEBYLEX', Q, '[w', '(x', 'LIMIT', 0, MOST_SHOWN)) do
  local caller, tenant, order = string.match(member, '^w([^%z]*)%z([^%z]*)%z(%d+)')
  show_waiter(caller, tenant, string.sub(order, 1, 16) - 4000000000000000)
end
for _, each in ipairs(due) do
  local w = load('w' .. each[1])
  if w then show_waiter(w.caller, w.tenant, w.order) end
end
return cmsgpack.pack(RAN, clock, cjson.encode(shown))
