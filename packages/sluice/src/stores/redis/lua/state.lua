-- A subject as it is stored: one MessagePack array
--   { base, tag, fields of that limit..., tag, fields..., 127, holds }
-- `base` is the time of the last write (us); every other time is its distance from it, so that a number takes 1 to 5 bytes instead of 9
-- and a subject with four windows fits into the 44 bytes that Redis embeds in the object itself. Scripts work on the array as it is.

-- Fields per algorithm, by code: what a limit without a past has.
local function add_fresh(p, limit)
  local code, o = limit[1], limit[3]
  if code == 5 then return end
  p[o - 1] = limit[2]
  if code == 3 then p[o], p[o + 1] = 0, 0
  elseif code == 2 then p[o] = {}
  else
    p[o], p[o + 1] = -1, 0
    if code == 1 then p[o + 2] = 0 end
  end
end

local widths = { [0] = 2, 3, 1, 2, 2, 0 }

-- set[0] becomes the place of the last field.
local function measure(sets)
  for s = 1, #sets do
    local last = 1
    for l = 1, #sets[s] do
      local width = widths[sets[s][l][1]]
      if width > 0 then last = sets[s][l][3] + width - 1 end
    end
    sets[s][0] = last
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
  local same = p[set[0] + 1] == nil or p[set[0] + 1] == 127
  for l = 1, #set do
    if set[l][1] ~= 5 and p[set[l][3] - 1] ~= set[l][2] then same = false end
  end
  if same then return p end
  local to, from = fresh(set, p[1]), 2
  while p[from] do
    local tag = p[from]
    if tag == 127 then
      to[set[0] + 1], to[set[0] + 2] = 127, copy(p[from + 1])
      break
    end
    local code = tag < 128 and floor(tag / 16) or tag % 8
    local width = widths[code]
    for l = 1, #set do
      if set[l][2] == tag then
        for w = 0, width - 1 do to[set[l][3] + w] = p[from + 1 + w] end
        if code == 2 then to[set[l][3]] = copy(p[from + 1]) end
      end
    end
    from = from + 1 + width
  end
  return to
end

-- Brings a state to `now`: everything in it is told relative to that.
local function rebase(p, set, now)
  local base = p[1]
  if base == now then return end
  local us, ms = now - base, floor(now / 1000) - floor(base / 1000)
  p[1] = now
  for l = 1, #set do
    local code, o = set[l][1], set[l][3]
    if code == 3 then
      p[o] = p[o] > us and p[o] - us or 0
    elseif code == 2 then
      local log = p[o]
      for e = 1, #log, 2 do log[e] = log[e] + us end
    elseif code ~= 5 and p[o] >= 0 then
      p[o] = p[o] + ms
    end
  end
  local holds = p[set[0] + 2]
  if holds then
    for h = 1, #holds, 5 do
      holds[h + 1] = holds[h + 1] + us
      holds[h + 2] = holds[h + 2] - us
    end
  end
end

-- The state that a value holds; anything but one whole array that starts with a time is not ours.
local function unpack_state(value)
  local first = value:byte()
  if first < 144 or (first > 159 and first ~= 220 and first ~= 221) then return false end
  local rest, p = cmsgpack.unpack_one(value)
  return rest == -1 and type(p) == 'table' and type(p[1]) == 'number' and p[1] > 0 and p[1] < 9007199254740992 and p
end

local function unpack_all(raw, states)
  for k = 1, #KEYS do
    if raw[k] then states[k] = unpack_state(raw[k]) end
  end
end

-- Reads all subjects: their states (nil for none, false for what is not ours), and the values as they were.
local function load_states()
  local raw, states, none = redis.call('MGET', unpack(KEYS)), {}, {}
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
  if #none > 0 and redis.call('EXISTS', unpack(none)) > 0 then
    for k = 1, #KEYS do
      if states[k] == nil and redis.call('EXISTS', KEYS[k]) == 1 then raw[k], states[k] = '\194', false end
    end
  end
  return raw, states
end
