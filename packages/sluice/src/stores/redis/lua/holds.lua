-- Holds stand at the end of a state: 127, then one flat list of { id, us since taken, us until it expires, cost, kind } after another.
-- Kind 0 reserve, 1 acquire, 2 receipt; see core/state.ts.

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

-- Takes a hold out and returns how long ago it was taken, its cost and its kind.
local function remove_hold(p, set, h)
  local holds = p[set[0] + 2]
  local taken, cost, kind = holds[h + 1], holds[h + 3], holds[h + 4]
  for _ = 1, 5 do table.remove(holds, h) end
  if #holds == 0 then p[set[0] + 1], p[set[0] + 2] = nil, nil end
  return taken, cost, kind
end

-- Expired holds leave, in the order and as of the instant in which they expired; what a reservation took comes back. So the outcome does
-- not depend on when somebody looks, and need not be written for its own sake.
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
