-- Subjects as they are stored: one MessagePack array
--   { base, tag, fields of that limit..., tag, fields..., 127, holds }
-- `base` is the time of the last write (us); every other time is kept as its distance from it, so that a number takes 1 to 5 bytes
-- instead of 9 and a subject with four windows fits into the 44 bytes that Redis embeds in the object itself.

-- Fields per algorithm, by code.
local widths = { [0] = 2, 3, 1, 2, 2, 0 }

-- Times of windows are kept in ms before the base; -1 stands for a window that never was.
local function unpack_window(base_ms, back) return back == -1 and 0 or base_ms - back end
local function pack_window(base_ms, start) return start == 0 and -1 or base_ms - start end

local function unpack_fields(code, base, base_ms, packed, p, f, o)
  if code == 3 then
    f[o], f[o + 1] = base + packed[p], packed[p + 1]
  elseif code == 2 then
    local log = {}
    for e = 1, #packed[p], 2 do log[e], log[e + 1] = base - packed[p][e], packed[p][e + 1] end
    f[o] = log
  else
    f[o], f[o + 1] = unpack_window(base_ms, packed[p]), packed[p + 1]
    if code == 1 then f[o + 2] = packed[p + 2] end
  end
end

local function fill(set, f)
  for l = 1, #set do
    local o = set[l][3]
    for w = 0, widths[set[l][1]] - 1 do f[o + w] = 0 end
  end
  return f
end

-- Makes the fields of a subject those of a set of limits. What the set has in common with what was there carries over.
local function adopt(st, s, sets)
  local set = sets[s]
  if st.s == s then return set end
  if st.s then
    local from, f = sets[st.s], fill(set, {})
    for l = 1, #set do
      for k = 1, #from do
        if from[k][2] == set[l][2] then
          for w = 0, widths[set[l][1]] - 1 do f[set[l][3] + w] = st.f[from[k][3] + w] end
        end
      end
    end
    st.f, st.s = f, s
    return set
  end
  st.s = s
  local packed, base = st.packed, st.base
  if not packed then
    st.f = fill(set, {})
    return set
  end
  local f, base_ms, p, l, count = {}, floor(base / 1000), 2, 1, #packed
  while p <= count do
    local tag = packed[p]
    if tag == 127 then
      st.holds = unpack_holds(packed[p + 1], base)
      break
    end
    local code = floor(tag / 16)
    -- Usually the limits are stored in the order of the set.
    while l <= #set and widths[set[l][1]] == 0 do l = l + 1 end
    local limit = set[l]
    if limit and limit[2] == tag then
      l = l + 1
    else
      limit = nil
      for k = 1, #set do if set[k][2] == tag then limit = set[k] end end
    end
    if limit then unpack_fields(code, base, base_ms, packed, p + 1, f, limit[3]) end
    p = p + 1 + widths[code]
  end
  for k = 1, #set do
    if f[set[k][3]] == nil then
      for w = 0, widths[set[k][1]] - 1 do f[set[k][3] + w] = 0 end
    end
  end
  st.f = f
  return set
end

local function load_states()
  local raw = redis.call('MGET', unpack(KEYS))
  local before, states, none = {}, {}, {}
  for k = 1, #KEYS do
    local value = raw[k]
    if value then
      local ok, packed = pcall(cmsgpack.unpack, value)
      if ok and type(packed) == 'table' and type(packed[1]) == 'number' then
        before[k] = value
        states[k] = { base = packed[1], packed = packed }
      else
        before[k] = '\194'
        states[k] = false
      end
    else
      before[k] = '\192'
      states[k] = { base = 0 }
      none[#none + 1] = KEYS[k]
    end
  end
  -- MGET says nil also for keys of other types; those are somebody else's and must not be overwritten.
  if #none > 0 and redis.call('EXISTS', unpack(none)) > 0 then
    for k = 1, #KEYS do
      if not raw[k] and redis.call('EXISTS', KEYS[k]) == 1 then
        before[k] = '\194'
        states[k] = false
      end
    end
  end
  return before, states
end

local function touch(st, now)
  st.base = now
  st.dirty = true
end

local function clear(st)
  st.packed, st.f, st.s, st.holds = nil, nil, nil, nil
  st.dirty = true
  st.base = 0
end

local function pack_state(st, set)
  local f, base = st.f, st.base
  local base_ms, packed, p = floor(base / 1000), { base }, 1
  for l = 1, #set do
    local code, tag, o = set[l][1], set[l][2], set[l][3]
    if code == 3 then
      packed[p + 1], packed[p + 2], packed[p + 3] = tag, max(0, f[o] - base), f[o + 1]
      p = p + 3
    elseif code == 2 then
      local log, entries = f[o], {}
      if log ~= 0 then
        for e = 1, #log, 2 do entries[e], entries[e + 1] = base - log[e], log[e + 1] end
      end
      packed[p + 1], packed[p + 2] = tag, entries
      p = p + 2
    elseif code ~= 5 then
      packed[p + 1], packed[p + 2], packed[p + 3] = tag, pack_window(base_ms, f[o]), f[o + 1]
      p = p + 3
      if code == 1 then
        packed[p + 1] = f[o + 2]
        p = p + 1
      end
    end
  end
  if st.holds and #st.holds > 0 then
    packed[p + 1], packed[p + 2] = 127, pack_holds(st.holds, base)
  end
  return cmsgpack.pack(packed)
end

local function save_states(states, sets)
  for k = 1, #states do
    local st = states[k]
    if st and st.dirty then
      local last = 0
      if st.s then
        local set, now_ms = sets[st.s], floor(st.base / 1000)
        for l = 1, #set do last = max(last, end_of(st, set[l], st.base, now_ms)) end
        if st.holds then
          for h = 1, #st.holds do last = max(last, st.holds[h].expires) end
        end
      end
      local ttl = ceil((last - st.base) / 1000)
      if ttl > 0 then
        redis.call('SET', KEYS[k], pack_state(st, sets[st.s]), 'PX', ttl)
      elseif st.packed or st.base == 0 then
        redis.call('DEL', KEYS[k])
      end
    end
  end
end
