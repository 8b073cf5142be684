-- Reads the state of an upstream without changing anything.
--
-- KEYS      those of the upstream, see exchange.lua
-- ARGV      see deadline.lua
-- Reply after status and time: JSON, or an empty text when there is no such upstream.

--- @include ../../../redis/lua/deadline.lua

local S, Q = KEYS[1], KEYS[2]
local function load(field)
  local packed = call('HGET', S, field)
  return packed and cmsgpack.unpack(packed) or nil
end

local m = load('m')
if not m then return cmsgpack.pack(RAN, clock, '') end
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
return cmsgpack.pack(RAN, clock, cjson.encode(told))
