-- Holds: { id, taken, expires, cost, kind }; kind 0 reserve, 1 acquire, 2 receipt. See core/state.ts.

local function find_hold(st, id)
  if not st.holds then return nil end
  for h = 1, #st.holds do if st.holds[h].id == id then return h end end
  return nil
end

local function add_hold(st, id, taken, expires, cost, kind)
  st.holds = st.holds or {}
  st.holds[#st.holds + 1] = { id = id, taken = taken, expires = expires, cost = cost, kind = kind }
end

local function remove_hold(st, id)
  local h = find_hold(st, id)
  return h and table.remove(st.holds, h)
end

-- Expired holds leave; what a reservation took comes back.
local function expire_holds(st, set, now, now_ms, give_back)
  if not st.holds then return end
  local kept, gone = {}, {}
  for h = 1, #st.holds do
    local list = st.holds[h].expires > now and kept or gone
    list[#list + 1] = st.holds[h]
  end
  if #gone == 0 then return end
  st.holds = kept
  for h = 1, #gone do
    if gone[h].kind == 0 then give_back(st, set, gone[h].cost, gone[h].taken, now, now_ms) end
  end
end

-- Stored flat: id, taken before the base, expires after the base, cost, kind.
local function unpack_holds(flat, base)
  local holds = {}
  for h = 1, #flat, 5 do
    holds[#holds + 1] = { id = flat[h], taken = base - flat[h + 1], expires = base + flat[h + 2], cost = flat[h + 3], kind = flat[h + 4] }
  end
  return holds
end

local function pack_holds(holds, base)
  local flat = {}
  for h = 1, #holds do
    local hold, f = holds[h], #flat
    flat[f + 1], flat[f + 2], flat[f + 3], flat[f + 4], flat[f + 5] =
      hold.id, base - hold.taken, hold.expires - base, hold.cost, hold.kind
  end
  return flat
end
