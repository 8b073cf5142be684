-- The twin of core/algorithms/share.ts. The fields of a share are: the age of its window (ms; -1 for none), for how
-- long it is kept from its start (ms), what its class spent, what is reserved for it, and what is to be reserved in the
-- next window. `limit.of` is the limit that is shared.

-- The age of the window of the limit that is shared, one that starts now if there is none, and what it has left.
local function shared_window(p, limit, now_ms)
  local o = limit.of[FIRST]
  local age, length, clock_age = p[o], window_at(limit.of, now_ms)
  --- @inline window-rule.lua
  return age, limit[AMOUNT] - (current and p[o + 1] or 0)
end

-- What the window before has left to be reserved in the current one.
local function carried_over(p, o)
  return p[o] >= 0 and p[o] < p[o + 1] and p[o + 4] or 0
end

local function share_room(p, limit, now_ms)
  local age, room = shared_window(p, limit, now_ms)
  local reserved = 0
  for _, kept in ipairs(p.kept or {}) do
    if algorithm_of(kept[1]) == SHARE then
      -- A share of a former limit may have begun at the same time and have ended since.
      local is_of_window = kept[2] == age and age < kept[3]
      reserved = reserved + (is_of_window and max(0, kept[5] - kept[4]) or carried_over(kept, 2))
    end
  end
  return max(0, room - min(reserved, limit[AMOUNT] - limit[GUARANTEED]))
end

-- Begins the current window of the class, unless it has begun.
local function begin_share(p, limit, now_ms)
  local o, age = limit[FIRST], shared_window(p, limit, now_ms)
  if p[o] == age then return end
  local is_next = limit.of[ALGORITHM] == CALENDAR and now_ms >= limit.of[MIDDLE]
  p[o + 3] = min(limit[GUARANTEED], carried_over(p, o))
  p[o], p[o + 1], p[o + 2], p[o + 4] = age, is_next and limit[NEXT_LIFE] or limit[LIFE], 0, 0
end

local function spend_share(p, limit, units, now_ms)
  begin_share(p, limit, now_ms)
  local o = limit[FIRST]
  p[o + 2] = p[o + 2] + units
  p[o + 4] = max(p[o + 4], min(p[o + 2], limit[GUARANTEED]))
end

-- Notes that a cost was denied, if it was a share that denied it. Returns whether anything has changed.
local function deny_share(p, set, cost, now_ms)
  local limit = set.shared
  if not limit or share_room(p, limit, now_ms) >= cost then return false end
  local o, age = limit[FIRST], shared_window(p, limit, now_ms)
  local spent = p[o] == age and p[o + 2] or 0
  if spent + cost > limit[GUARANTEED] or (p[o] == age and p[o + 4] == limit[GUARANTEED]) then return false end
  begin_share(p, limit, now_ms)
  p[o + 4] = limit[GUARANTEED]
  return true
end
