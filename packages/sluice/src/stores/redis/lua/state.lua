-- A subject as it is stored: one MessagePack array
--   { base, tag, fields of that limit..., tag, fields..., HOLDS, holds }
-- `base` is the time of the last write (us); every other time is its distance from it, so that a number takes 1 to 5 bytes instead of 9
-- and a subject with four windows fits into the 44 bytes that Redis embeds in the object itself. Scripts work on the array as it is.

-- Fields per algorithm, by code: what a limit without a past has.
local function add_fresh(p, limit)
  local algorithm, o = limit[ALGORITHM], limit[FIRST]
  if algorithm == CONCURRENCY then return end
  p[o - 1] = limit[TAG]
  if algorithm == GCRA then p[o], p[o + 1] = 0, 0
  elseif algorithm == SLIDING_LOG then p[o] = {}
  else
    p[o], p[o + 1] = -1, 0
    if algorithm == SLIDING_WINDOW then p[o + 2] = 0 end
  end
end

local widths = {
  [FIXED_WINDOW] = 2, [SLIDING_WINDOW] = 3, [SLIDING_LOG] = 1, [GCRA] = 2, [CALENDAR] = 2, [CONCURRENCY] = 0,
}

local function measure(sets)
  for s = 1, #sets do
    local last = BASE
    for l = 1, #sets[s] do
      local width = widths[sets[s][l][ALGORITHM]]
      if width > 0 then last = sets[s][l][FIRST] + width - 1 end
    end
    sets[s][LAST] = last
  end
end

local function fresh(set, now)
  local p = { now }
  for l = 1, #set do add_fresh(p, set[l]) end
  return p
end

local function copy(list)
  local made = {}
  for i = 1, #list do made[i] = list[i] end
  return made
end

-- The state in the layout of a set: the same one if it has it, else a copy. Limits that the set has in common with what was stored carry
-- over; the others start anew.
local function adopt(p, set)
  local same = p[set[LAST] + 1] == nil or p[set[LAST] + 1] == HOLDS
  for l = 1, #set do
    if set[l][ALGORITHM] ~= CONCURRENCY and p[set[l][FIRST] - 1] ~= set[l][TAG] then same = false end
  end
  if same then return p end
  local to, from = fresh(set, p[BASE]), 2
  while p[from] do
    local tag = p[from]
    if tag == HOLDS then
      to[set[LAST] + 1], to[set[LAST] + 2] = HOLDS, copy(p[from + 1])
      break
    end
    local algorithm = tag < 128 and floor(tag / 16) or tag % 8
    local width = widths[algorithm]
    for l = 1, #set do
      if set[l][TAG] == tag then
        for w = 0, width - 1 do to[set[l][FIRST] + w] = p[from + 1 + w] end
        if algorithm == SLIDING_LOG then to[set[l][FIRST]] = copy(p[from + 1]) end
      end
    end
    from = from + 1 + width
  end
  return to
end

-- Brings a state to `now`: all its times are relative to that.
local function rebase(p, set, now)
  local base = p[BASE]
  if base == now then return end
  local us, ms = now - base, floor(now / 1000) - floor(base / 1000)
  p[BASE] = now
  for l = 1, #set do
    local algorithm, o = set[l][ALGORITHM], set[l][FIRST]
    if algorithm == GCRA then
      p[o] = p[o] > us and p[o] - us or 0
    elseif algorithm == SLIDING_LOG then
      local log = p[o]
      for e = 1, #log, 2 do log[e] = log[e] + us end
    elseif algorithm ~= CONCURRENCY and p[o] >= 0 then
      p[o] = p[o] + ms
    end
  end
  local holds = p[set[LAST] + 2]
  if holds then
    for h = 1, #holds, HOLD_WIDTH do
      holds[h + HOLD_AGE] = holds[h + HOLD_AGE] + us
      holds[h + HOLD_LEFT] = holds[h + HOLD_LEFT] - us
    end
  end
end

-- The state that a value holds; anything but one whole array that starts with a time is not ours.
local function unpack_state(value)
  local first = value:byte()
  if first < EMPTY_ARRAY or (first > LONGEST_SHORT_ARRAY and first ~= ARRAY_16 and first ~= ARRAY_32) then return false end
  local rest, p = cmsgpack.unpack_one(value)
  local base = rest == -1 and type(p) == 'table' and p[BASE]
  return type(base) == 'number' and base > 0 and base < 9007199254740992 and p
end

local function unpack_all(raw, states)
  for k = 1, #KEYS do
    if raw[k] then states[k] = unpack_state(raw[k]) end
  end
end

-- Reads all subjects: their states (nil for none, false for what is not ours), and the values as they were.
local function load_states()
  local raw, states, none = call('MGET', unpack(KEYS)), {}, {}
  if not pcall(unpack_all, raw, states) then
    for k = 1, #KEYS do
      if raw[k] then
        local ok, p = pcall(unpack_state, raw[k])
        states[k] = ok and p
      end
    end
  end
  for k = 1, #KEYS do
    if not raw[k] then
      raw[k], states[k] = '\192', nil
      none[#none + 1] = KEYS[k]
    elseif not states[k] then
      raw[k], states[k] = '\194', false
    end
  end
  -- MGET says nil also for keys of other types; those are somebody else's and must not be overwritten.
  if #none > 0 and call('EXISTS', unpack(none)) > 0 then
    for k = 1, #KEYS do
      if states[k] == nil and call('EXISTS', KEYS[k]) == 1 then raw[k], states[k] = '\194', false end
    end
  end
  return raw, states
end
