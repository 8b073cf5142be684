-- Holds are at the end of a state: HOLDS, then one flat list of { id, age, us left, cost, kind, tags } after another.
-- A hold that grew has one for each taking, oldest first.

local function has_permits(set)
  for l = 1, #set do if set[l][ALGORITHM] == CONCURRENCY then return true end end
  return false
end

-- Where the takings of a hold stand, and what they cost together.
local function find_takings(p, set, id)
  local holds, takings, cost = p[set[LAST] + 2], {}, 0
  for h = 1, holds and #holds or 0, HOLD_WIDTH do
    if holds[h] == id then
      takings[#takings + 1] = h
      cost = cost + holds[h + HOLD_COST]
    end
  end
  return takings, cost
end

local function add_hold(p, set, id, ttl, cost, kind, tags)
  local last = set[LAST]
  if not p[last + 1] then p[last + 1], p[last + 2] = HOLDS, {} end
  local holds = p[last + 2]
  local h = #holds + 1
  if not tags then
    tags = {}
    for l = 1, #set do tags[l] = set[l][TAG] end
  end
  holds[h], holds[h + HOLD_AGE], holds[h + HOLD_LEFT], holds[h + HOLD_COST] = id, 0, ttl, cost
  holds[h + HOLD_KIND], holds[h + HOLD_TAGS] = kind, tags
end

-- Adds to a hold that is open. What is beyond MAX_TAKINGS counts as taken with the newest of them.
local function grow_hold(p, set, takings, cost)
  if cost == 0 then return end
  local holds, first, newest = p[set[LAST] + 2], takings[1], takings[#takings]
  if #takings < MAX_TAKINGS then
    add_hold(p, set, holds[first], holds[first + HOLD_LEFT], cost, holds[first + HOLD_KIND])
    return
  end
  local present, tags = {}, {}
  for l = 1, #set do present[set[l][TAG]] = true end
  for _, tag in ipairs(holds[newest + HOLD_TAGS]) do if present[tag] then tags[#tags + 1] = tag end end
  holds[newest + HOLD_COST], holds[newest + HOLD_TAGS] = holds[newest + HOLD_COST] + cost, tags
end

-- Removes a hold and returns its fields after the id.
local function remove_hold(p, set, h)
  local holds = p[set[LAST] + 2]
  local removed = { unpack(holds, h + 1, h + HOLD_WIDTH - 1) }
  for _ = 1, HOLD_WIDTH do table.remove(holds, h) end
  if #holds == 0 then p[set[LAST] + 1], p[set[LAST] + 2] = nil, nil end
  return removed
end

-- Returns units to the limits that a hold was taken from, also to those that the current set does not have.
local function give_back_held(p, set, tags, units, taken, held, now, now_ms)
  local is_held = {}
  for t = 1, #tags do is_held[tags[t]] = true end
  for l = 1, #set do
    if is_held[set[l][TAG]] then give_back(p, set[l], units, taken, held, now, now_ms) end
  end
  for _, kept in ipairs(p.kept or {}) do
    if is_held[kept[1]] then give_back(kept, limit_of_tag(kept[1]), units, taken, held, now, now_ms) end
  end
end

-- Gives units of a hold back, those that were taken last first: as if it had never grown so far.
local function give_back_last(p, set, takings, units, now, now_ms)
  local holds = p[set[LAST] + 2]
  for t = #takings, 1, -1 do
    local h = takings[t]
    local back, age = min(units, holds[h + HOLD_COST]), holds[h + HOLD_AGE]
    if back > 0 then
      give_back_held(p, set, holds[h + HOLD_TAGS], back, now - age, age, now, now_ms)
      holds[h + HOLD_COST] = holds[h + HOLD_COST] - back
      units = units - back
    end
  end
end

-- Removes expired holds, in the order and as of the instant in which they expired; the units of a reservation or an
-- unconfirmed decision are returned. So the outcome does not depend on when this runs, and it need not be written only
-- for that.
local function expire_holds(p, set, now, now_ms)
  while true do
    local holds, first = p[set[LAST] + 2], nil
    for h = 1, holds and #holds or 0, HOLD_WIDTH do
      local left = holds[h + HOLD_LEFT]
      if left <= 0 and not (first and holds[first + HOLD_LEFT] <= left) then first = h end
    end
    if not first then return end
    local hold = remove_hold(p, set, first)
    local age, overdue, kind = hold[HOLD_AGE], -hold[HOLD_LEFT], hold[HOLD_KIND]
    if kind ~= ACQUIRE then
      give_back_held(p, set, hold[HOLD_TAGS], hold[HOLD_COST], now - age, age - overdue, now, now_ms)
    end
  end
end
