-- Decides everything asked in one tick, in the order of asking, at one instant.
--
-- KEYS      the subjects, each once
-- ARGV[1]   deadline in this server's time (us); a script that starts later writes nothing. 0 asks only for the time.
-- ARGV[2]   JSON: the limit sets. A set is a list of limits
--             { algorithm, tag, offset, amount, period (ms), ... } and then, by algorithm:
--             0 fixed-window: aligned (0|1)    1 sliding-window: -         2 sliding-log: tick (us)
--             3 gcra: interval (us), burst     4 calendar: start, end of this period, end of the next (ms)
--             5 concurrency: -
-- ARGV[3]   JSON: the asks, flat. `charges` stands for: count, then key index, set index, cost for each.
--             0 take one subject: key, set, cost, copies
--             1 take: charges, hold id, hold ttl (us), hold kind
--             2 settle: charges, hold id          3 extend: charges, hold id, ttl (us)
--             4 refund: charges, taken at (us; -1 is now)
--             5 reset: charges                     6 debit: one charge, units of each of its limits
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

local before, states = load_states()
local asks = cjson.decode(ARGV[3])
local total, at, last = 0, 1, #asks

-- How many copies of the cost fit into every limit of a subject, at most `copies`.
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

-- The charges that start at `at`, their subjects, and their common instant: no earlier than any subject was last written.
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
