-- Decides everything asked in one tick, in the order of asking, at one instant.
--
-- KEYS      the subjects, each once
-- ARGV[1]   deadline in this server's time (us); a script that starts later writes nothing. 0 asks only for the time.
-- ARGV[2]   JSON: the limit sets. A set is a list of limits
--             { algorithm, tag, place of its first field, amount, period (ms), ... } and then, by algorithm:
--             0 fixed-window: aligned (0|1)    1 sliding-window: -         2 sliding-log: tick (us)
--             3 gcra: interval (us), burst     4 calendar: start, end of this period, end of the next (ms)
--             5 concurrency: -
-- ARGV[3]   JSON: the asks, flat. `charges` stands for: count, then key index, set index, cost for each.
--             0 take one subject: key, set, cost, copies
--             1 take: charges, hold id, hold ttl (us), hold kind
--             2 settle: charges, hold id          3 extend: charges, hold id, ttl (us)
--             4 refund: charges, taken at (us; -1 is now)
--             5 reset: charges                    6 debit: one charge, units of each of its limits
--             7 take one subject after the other, once each: first key, last key, set, cost
--
-- Reply: one string of MessagePack values: status (0 decided, 1 too late or outside the calendar periods sent: nothing written),
--   the time (us), how many copies were granted in all, and the state of each subject as it was before, nil for none, false for one
--   that is not ours. The client runs the same asks on these states to learn each outcome; the grants let it check that it agrees.
--
-- Everything is validated and computed first; all writes come last.

--- @include limits.lua
--- @include holds.lua
--- @include state.lua

local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > tonumber(ARGV[1]) then return cmsgpack.pack(1, clock, 0) end

local sets = cjson.decode(ARGV[2])
if not calendars_cover(sets, clock) then return cmsgpack.pack(1, clock, 0) end
measure(sets)

local before, states = load_states()
local asks = cjson.decode(ARGV[3])
local total, at, last = 0, 1, #asks
local clock_ms = floor(clock / 1000)
-- By key: which set the state is laid out for, and whether it is to be written.
local laid_out, dirty = {}, {}

local function subject(k, s)
  local p = states[k]
  if p == false or laid_out[k] == s then return p end
  p = p and adopt(p, sets[s]) or fresh(sets[s], clock)
  states[k], laid_out[k] = p, s
  return p
end

local function take_one(k, s, cost, copies)
  local p, set = subject(k, s), sets[s]
  if not p then return 0 end
  local now, now_ms = clock, clock_ms
  if p[1] > clock then now, now_ms = p[1], floor(p[1] / 1000) end
  rebase(p, set, now)
  if p[set[0] + 1] and expire_holds(p, set, now, now_ms) then dirty[k] = true end
  local granted = fit(p, set, cost, copies, now, now_ms)
  if granted > 0 then
    spend(p, set, granted * cost, now, now_ms)
    dirty[k] = true
  end
  return granted
end

-- The charges that start at `at`, brought to their common instant: no earlier than any of their subjects was last written.
local function read_charges()
  local count, charges, now, ours = asks[at], {}, clock, true
  at = at + 1
  for c = 1, count do
    local k, s = asks[at], asks[at + 1]
    local p = subject(k, s)
    if not p then ours = false elseif p[1] > now then now = p[1] end
    charges[c] = { k = k, p = p, set = sets[s], cost = asks[at + 2] }
    at = at + 3
  end
  local now_ms = floor(now / 1000)
  if ours then
    for c = 1, count do
      local charge = charges[c]
      rebase(charge.p, charge.set, now)
      if expire_holds(charge.p, charge.set, now, now_ms) then dirty[charge.k] = true end
    end
  end
  return charges, now, now_ms, ours
end

local function take_all(charges, id, ttl, kind, now, now_ms)
  if id ~= '' then
    local known = 0
    for c = 1, #charges do if find_hold(charges[c].p, charges[c].set, id) then known = known + 1 end end
    if known == #charges then return 1 end
  end
  for c = 1, #charges do
    local charge = charges[c]
    if fit(charge.p, charge.set, charge.cost, 1, now, now_ms) < 1 then return 0 end
  end
  for c = 1, #charges do
    local charge = charges[c]
    spend(charge.p, charge.set, charge.cost, now, now_ms)
    if id ~= '' and not find_hold(charge.p, charge.set, id) then add_hold(charge.p, charge.set, id, ttl, charge.cost, kind) end
    dirty[charge.k] = true
  end
  return 1
end

local function settle(charge, id, now, now_ms)
  local h = find_hold(charge.p, charge.set, id)
  if not h then return end
  local ago, cost = remove_hold(charge.p, charge.set, h)
  local unused = cost - charge.cost
  if unused > 0 then give_back(charge.p, charge.set, unused, now - ago, now, now_ms)
  elseif unused < 0 then spend(charge.p, charge.set, -unused, now, now_ms) end
  dirty[charge.k] = true
end

local function extend(charge, id, ttl)
  local h = find_hold(charge.p, charge.set, id)
  if not h then return end
  charge.p[charge.set[0] + 2][h + 2] = ttl
  dirty[charge.k] = true
end

local function refund(charge, taken, now, now_ms)
  give_back(charge.p, charge.set, charge.cost, taken, now, now_ms)
  dirty[charge.k] = true
end

local function debit(charge, now, now_ms)
  for l = 1, #charge.set do
    local units = asks[at + l - 1]
    if units > 0 then spend_one(charge.p, charge.set[l], units, now, now_ms) end
  end
  dirty[charge.k] = true
end

local function reset(charge)
  if not charge.p then return end
  states[charge.k], laid_out[charge.k] = nil, nil
  dirty[charge.k] = true
end

while at <= last do
  local kind = asks[at]
  at = at + 1
  if kind == 7 then
    for k = asks[at], asks[at + 1] do total = total + take_one(k, asks[at + 2], asks[at + 3], 1) end
    at = at + 4
  elseif kind == 0 then
    total = total + take_one(asks[at], asks[at + 1], asks[at + 2], asks[at + 3])
    at = at + 4
  else
    local charges, now, now_ms, ours = read_charges()
    local a, b, c = asks[at], asks[at + 1], asks[at + 2]
    if kind == 1 then
      if ours then total = total + take_all(charges, a, b, c, now, now_ms) end
      at = at + 3
    elseif kind == 5 then
      for i = 1, #charges do reset(charges[i]) end
    elseif kind == 6 then
      if ours then debit(charges[1], now, now_ms) end
      at = at + #charges[1].set
    else
      for i = 1, ours and #charges or 0 do
        if kind == 2 then settle(charges[i], a, now, now_ms)
        elseif kind == 3 then extend(charges[i], a, b)
        else refund(charges[i], a < 0 and now or a, now, now_ms) end
      end
      at = at + (kind == 3 and 2 or 1)
    end
  end
end

for k = 1, #KEYS do
  if dirty[k] then
    local p = states[k]
    local ttl = p and life(p, sets[laid_out[k]], p[1], p[1] == clock and clock_ms or floor(p[1] / 1000)) or 0
    if ttl > 0 then
      redis.call('SET', KEYS[k], cmsgpack.pack(p), 'PX', ttl)
    else
      redis.call('DEL', KEYS[k])
    end
  end
end
return cmsgpack.pack(0, clock, total) .. table.concat(before)
