-- Decides all asks of one tick, in their order, at one instant.
--
-- KEYS      the subjects, each once
-- ARGV[1]   the deadline, see deadline.lua
-- ARGV[2]   JSON: { sets, asks }, or { sets, asks, blocks }
--           A set is a list of limits
--             { ALGORITHM, TAG, FIRST, AMOUNT, PERIOD, ... } and then, by algorithm:
--             fixed-window: ALIGNED       sliding-log: TICK
--             gcra: INTERVAL, BURST       calendar: START, MIDDLE, END
--             pace: INTERVAL, BURST, SEGMENT...   share: GUARANTEED, LIFE, NEXT_LIFE
--           A third list has the terms of sets that block, if any: { BLOCK_SET, BLOCK_COUNTS, ... }
--           The asks are flat. `charges` is: count, then key index, set index, cost for each.
--             TAKE_EACH: first key, last key, set, cost, copies: takes the same of one subject after the other
--             TAKE: charges, hold id, hold ttl (us), hold kind (PERMITS_ONLY: ACQUIRE if there is a concurrency limit)
--             SETTLE, RESIZE: charges, hold id  EXTEND: charges, hold id, ttl (us)
--             REFUND: charges, taken at (us; -1 is now)
--             RESET: charges                    DEBIT: one charge, units of each of its limits
--             RAISE: one charge, units          BLOCK_FOR: charges, us
-- The names are those of constants.lua. A call that fast-takes.lua can handle has its numbers instead of ARGV[2].
--
-- Reply: one string of MessagePack values: status (RAN, or NOT_RUN when it is too late or outside the calendar periods
-- that were sent: then nothing was written), the time (us), how many copies were granted in all, and the previous state
-- of each subject: nil for none, false for one that is not ours, true for one of another format. The client runs the
-- same asks on these states to compute each outcome; the grants let it check that it agrees.
--
-- Everything is validated and computed first; all writes come last.

--- @include constants.lua
--- @include ../../../redis/lua/deadline.lua

--- @include fast-takes.lua
--- @include tags.lua
--- @include general-form.lua
--- @include limits.lua
--- @include holds.lua
--- @include block.lua
--- @include state.lua

local sets, asks, blocks = general_form(json)
for _, terms in ipairs(blocks or {}) do sets[terms[BLOCK_SET]].block = terms end
if not calendars_cover(sets, clock) then return cmsgpack.pack(NOT_RUN, clock) end
-- Whether a denial may have to be written.
local notes_denials = measure(sets) or blocks

local before, states = load_states()
local total, at, last = 0, 1, #asks
local clock_ms = floor(clock / 1000)
-- By key: the set that determines the layout of the state, and whether it must be written.
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
  if p[BASE] > clock then now, now_ms = p[BASE], floor(p[BASE] / 1000) end
  rebase(p, set, now)
  if p[set[LAST] + 1] then expire_holds(p, set, now, now_ms) end
  local granted = fit(p, set, cost, copies, now_ms)
  if granted > 0 then
    spend(p, set, granted * cost, now, now_ms)
    dirty[k] = true
    if cost > 0 then strike(p, set, CHARGES, granted) end
  end
  if strike(p, set, DENIALS, copies - granted) then dirty[k] = true end
  if granted < copies and deny_share(p, set, cost, now_ms) then dirty[k] = true end
  return granted
end

-- The charges that start at `at`, brought to their common instant: no earlier than the last write of any of their
-- subjects.
local function read_charges()
  local first, count, charges, now, ours = at + 1, asks[at], {}, clock, true
  at = first + count * 3
  for c = 1, count do
    local i = first + c * 3 - 3
    local k, s = asks[i], asks[i + 1]
    charges[c] = { k = k, set = sets[s], cost = asks[i + 2] }
    ours = ours and states[k] ~= false
    if ours then charges[c].p = subject(k, s) end
    if ours and charges[c].p[BASE] > now then now = charges[c].p[BASE] end
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

-- What is still to be spent for a hold: a repeated ask with the same id pays only for what was not granted before.
local function find_dues(charges, id, kind)
  local to_hold, known = 0, 0
  for c = 1, #charges do
    local charge = charges[c]
    charge.held = kind ~= PERMITS_ONLY or has_permits(charge.set)
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
  if kind == PERMITS_ONLY then kind = ACQUIRE end
  local fits = true
  for c = 1, #charges do
    local charge = charges[c]
    if fit(charge.p, charge.set, charge.cost, 1, now_ms) < 1 then
      if not notes_denials then return 0 end
      fits = false
      if strike(charge.p, charge.set, DENIALS, 1) then dirty[charge.k] = true end
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
      strike(charge.p, charge.set, CHARGES, 1)
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
  if charge.cost > 0 then strike(p, set, CHARGES, 1) end
  return 1
end

local function extend(charge, id, ttl)
  local holds, takings = charge.p[charge.set[LAST] + 2], find_takings(charge.p, charge.set, id)
  for _, h in ipairs(takings) do
    holds[h + HOLD_LEFT] = ttl
    if holds[h + HOLD_KIND] == PENDING then holds[h + HOLD_KIND] = ACQUIRE end
  end
  return min(1, #takings)
end

-- Sets the cost instead of changing it by a difference, so that doing it twice is harmless.
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
    if p[set[LAST] + 2][takings[t] + HOLD_COST] == 0 then remove_hold(p, set, takings[t]) end
  end
  return 1
end

-- Clocks of cluster nodes differ: a time of another node that is later than now counts as now.
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
    if limit[ALGORITHM] == CALENDAR and units > 0 then
      local p, o, length, clock_age = charge.p, limit[FIRST], window_at(limit, now_ms)
      p[o], p[o + 1] = clock_age, p[o] == clock_age and max(units, p[o + 1]) or units
    elseif limit[ALGORITHM] == PACE and units > 0 then
      local p, o, count, _, _, age = charge.p, limit[FIRST], paced(charge.p, limit, now_ms)
      if p[o] ~= age then p[o + 2], p[o + 3], p[o + 4] = 0, 0, 0 end
      p[o], p[o + 1] = age, max(units, count)
    end
  end
end

while at <= last do
  local kind = asks[at]
  at = at + 1
  if kind == TAKE_EACH then
    for k = asks[at], asks[at + 1] do total = total + take_one(k, asks[at + 2], asks[at + 3], asks[at + 4]) end
    at = at + 5
  else
    local charges, now, now_ms, ours = read_charges()
    local a, b, c = asks[at], asks[at + 1], asks[at + 2]
    -- How much was done. An ask that changed anything writes all its subjects.
    local done = ours and 1 or 0
    if kind == RESET then
      -- A value that is not ours is removed too: this is how a damaged value is repaired.
      done = 1
    elseif kind == TAKE then
      if ours then
        done = take_all(charges, a, b, c, now, now_ms)
        total = total + done
      end
      at = at + 3
    elseif kind == DEBIT then
      if ours then debit(charges[1], now, now_ms) end
      at = at + #charges[1].set
    elseif kind == RAISE then
      if ours then raise(charges[1], a, now_ms) end
      at = at + 1
    else
      done = 0
      for i = 1, ours and #charges or 0 do
        if kind == SETTLE then done = done + settle(charges[i], a, now, now_ms)
        elseif kind == RESIZE then done = done + resize(charges[i], a, now, now_ms)
        elseif kind == BLOCK_FOR then done = done + block_for(charges[i].p, charges[i].set, a)
        elseif kind == EXTEND then done = done + extend(charges[i], a, b)
        else done = done + refund(charges[i], a, now, now_ms) end
      end
      at = at + (kind == EXTEND and 2 or 1)
    end
    for i = 1, done > 0 and #charges or 0 do
      local k = charges[i].k
      dirty[k] = true
      if kind == RESET then states[k], laid_out[k] = nil, nil end
    end
  end
end

for k = 1, #KEYS do
  if dirty[k] then
    local p, value, life_ms = states[k], nil, 0
    if p then value, life_ms = pack_state(p, sets[laid_out[k]]) end
    if life_ms > 0 then
      -- By this server's clock, which may be behind that of the state; and one more, as Redis counts whole ms from
      -- before the script.
      if p[BASE] > clock then life_ms = life_ms + ceil((p[BASE] - clock) / 1000) end
      call('SET', KEYS[k], value, 'PX', life_ms + 1)
    else
      call('DEL', KEYS[k])
    end
  end
end
return cmsgpack.pack(RAN, clock, total) .. table.concat(before)
