-- Holds stand at the end of a state: HOLDS, then one flat list of { id, age, us left, cost, kind, tags } after another.

local function has_places(set)
  for l = 1, #set do if set[l][ALGORITHM] == CONCURRENCY then return true end end
  return false
end

local function find_hold(p, set, id)
  local holds = p[set[LAST] + 2]
  if holds then
    for h = 1, #holds, HOLD_WIDTH do if holds[h] == id then return h end end
  end
  return nil
end

local function add_hold(p, set, id, ttl, cost, kind)
  local last = set[LAST]
  if not p[last + 1] then p[last + 1], p[last + 2] = HOLDS, {} end
  local holds, tags = p[last + 2], {}
  local h = #holds + 1
  for l = 1, #set do tags[l] = set[l][TAG] end
  holds[h], holds[h + HOLD_AGE], holds[h + HOLD_LEFT], holds[h + HOLD_COST] = id, 0, ttl, cost
  holds[h + HOLD_KIND], holds[h + HOLD_TAGS] = kind, tags
end

-- Takes a hold out and returns its fields after the id.
local function remove_hold(p, set, h)
  local holds = p[set[LAST] + 2]
  local removed = { unpack(holds, h + 1, h + HOLD_WIDTH - 1) }
  for _ = 1, HOLD_WIDTH do table.remove(holds, h) end
  if #holds == 0 then p[set[LAST] + 1], p[set[LAST] + 2] = nil, nil end
  return removed
end

-- Gives units back to the limits that a hold was taken from, also to those that the present set does not have.
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

-- Expired holds leave, in the order and as of the instant in which they expired; what a reservation or an unconfirmed
-- decision took comes back. So the outcome does not depend on when somebody looks, and need not be written for its own
-- sake.
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
