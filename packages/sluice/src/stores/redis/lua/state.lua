-- A subject as it is stored: one MessagePack array
--   { base, tag, fields of that limit..., tag, fields..., HOLDS, holds }
-- `base` is the time of the last write (us); every other time is its distance from it, so that a number takes 1 to 5
-- bytes instead of 9 and a subject with four windows fits into the 44 bytes that Redis embeds in the object itself.
-- Scripts work on the array as it is.
--
-- This is format 1, which needs no number. A value of a later format starts with OTHER_FORMAT, a byte that starts
-- neither a MessagePack value nor a text, and its number; docs/design.md says who writes which. It is left as it is.
--
-- The limits of the last writer come first, in the order of its set. Those that follow are kept for other sets, until
-- they end: tiers and policy versions that alternate on a subject must not erase each other's usage. A loaded state has
-- them in `kept`, each as { tag, fields... }.

-- Fields per algorithm, by code: those of an unused limit.
local function add_fresh(p, limit)
  local algorithm, o = limit[ALGORITHM], limit[FIRST]
  if algorithm == CONCURRENCY then return end
  p[o - 1] = limit[TAG]
  if algorithm == GCRA then p[o], p[o + 1] = 0, 0
  elseif algorithm == SLIDING_LOG then p[o] = {}
  else
    p[o], p[o + 1] = -1, 0
    if algorithm == SLIDING_WINDOW then p[o + 2] = 0 end
    if algorithm == PACE or algorithm == SHARE then p[o + 2], p[o + 3], p[o + 4] = 0, 0, 0 end
  end
end

-- Finds the end of each set's fields, and what its shares are of. Returns whether there are any.
local function measure(sets)
  local shared = false
  for s = 1, #sets do
    local last = BASE
    for l = 1, #sets[s] do
      local limit = sets[s][l]
      local width = widths[limit[ALGORITHM]]
      if width then last = limit[FIRST] + width - 1 end
      if limit[ALGORITHM] == SHARE then
        limit.of = sets[s][l - 1]
        sets[s].shared, shared = limit, true
      end
    end
    sets[s][LAST] = last
  end
  return shared
end

local function fresh(set, now)
  local p = { now }
  for l = 1, #set do add_fresh(p, set[l]) end
  return p
end

-- Whether a state has the limits of a set, in its order, and nothing else but holds.
local function is_laid_out(p, set)
  local after = p[set[LAST] + 1]
  if after ~= nil and after ~= HOLDS then return false end
  for l = 1, #set do
    if set[l][ALGORITHM] ~= CONCURRENCY and p[set[l][FIRST] - 1] ~= set[l][TAG] then return false end
  end
  return true
end

-- The state in the layout of a set. Limits that it does not have are kept; those that are new to the subject are
-- unused.
local function lay_out(p, set)
  if is_laid_out(p, set) then return p end
  local to, firsts, kept, from = fresh(set, p[BASE]), {}, {}, 2
  for l = 1, #set do firsts[set[l][TAG]] = set[l][FIRST] end
  local function move(source, at, width)
    local first = firsts[source[at]]
    if first then
      for w = 1, width do to[first + w - 1] = source[at + w] end
    else
      kept[#kept + 1] = { unpack(source, at, at + width) }
    end
  end
  while p[from] and p[from] ~= HOLDS do
    local width = widths[algorithm_of(p[from])]
    move(p, from, width)
    from = from + 1 + width
  end
  for _, one in ipairs(p.kept or {}) do move(one, 1, #one - 1) end
  if p[from] == HOLDS then to[set[LAST] + 1], to[set[LAST] + 2] = HOLDS, p[from + 1] end
  if #kept > 0 then to.kept = kept end
  return to
end

local function rebase_limit(p, limit, us, ms)
  local algorithm, o = limit[ALGORITHM], limit[FIRST]
  if algorithm == GCRA then
    p[o] = p[o] > us and p[o] - us or 0
  elseif algorithm == SLIDING_LOG then
    local log = p[o]
    for e = 1, #log, 2 do log[e] = log[e] + us end
  elseif algorithm ~= CONCURRENCY and p[o] >= 0 then
    p[o] = p[o] + ms
  end
end

-- Brings a state to `now`: all its times are relative to that.
local function rebase(p, set, now)
  local base = p[BASE]
  if base == now then return end
  local us, ms = now - base, floor(now / 1000) - floor(base / 1000)
  p[BASE] = now
  for l = 1, #set do rebase_limit(p, set[l], us, ms) end
  if p.kept then
    for _, kept in ipairs(p.kept) do rebase_limit(kept, limit_of_tag(kept[1]), us, ms) end
  end
  local holds = p[set[LAST] + 2]
  if holds then
    for h = 1, #holds, HOLD_WIDTH do
      holds[h + HOLD_AGE] = holds[h + HOLD_AGE] + us
      holds[h + HOLD_LEFT] = holds[h + HOLD_LEFT] - us
    end
  end
end

-- Which kept limits are stored: those that have not ended, at most MAX_KEPT, and of more those that end last.
local function kept_to_store(p, now_ms)
  local live, lives = {}, {}
  for _, kept in ipairs(p.kept) do
    lives[kept] = life(kept, limit_of_tag(kept[1]), now_ms)
    if lives[kept] > 0 then live[#live + 1] = kept end
  end
  if #live > MAX_KEPT then
    table.sort(live, function(a, b)
      if lives[a] ~= lives[b] then return lives[a] > lives[b] end
      return a[1] < b[1]
    end)
  end
  return live, lives
end

-- The state as it is stored, and for how many ms it is needed. The state must not be used after this.
local function pack_state(p, set)
  local now_ms, last, longest = floor(p[BASE] / 1000), set[LAST], 0
  for l = 1, #set do longest = max(longest, life(p, set[l], now_ms)) end
  local holds = p[last + 2]
  if holds then
    for h = 1, #holds, HOLD_WIDTH do longest = max(longest, ceil(holds[h + HOLD_LEFT] / 1000)) end
  end
  if p.kept then
    local live, lives = kept_to_store(p, now_ms)
    p.kept = nil
    for i = 1, min(#live, MAX_KEPT) do
      longest = max(longest, lives[live[i]])
      for f = 1, #live[i] do
        last = last + 1
        p[last] = live[i][f]
      end
    end
    if holds then p[last + 1], p[last + 2] = HOLDS, holds end
  end
  return cmsgpack.pack(p), longest
end

local function is_count(n)
  return type(n) == 'number' and n >= 0 and n < MAX_NUMBER
end

local function is_log(log)
  if type(log) ~= 'table' then return false end
  for e = 1, #log, 2 do
    if type(log[e]) ~= 'number' or not is_count(log[e] + MAX_NUMBER / 2) or not is_count(log[e + 1]) then return false end
  end
  return true
end

local function are_holds(holds)
  if type(holds) ~= 'table' or #holds % HOLD_WIDTH ~= 0 then return false end
  for h = 1, #holds, HOLD_WIDTH do
    local left, kind, tags = holds[h + HOLD_LEFT], holds[h + HOLD_KIND], holds[h + HOLD_TAGS]
    if type(holds[h]) ~= 'string' or not is_count(holds[h + HOLD_AGE]) or not is_count(holds[h + HOLD_COST])
      or type(left) ~= 'number' or not is_count(left + MAX_NUMBER / 2)
      or not is_count(kind) or kind > LAST_BLOCK or kind % 1 ~= 0 or type(tags) ~= 'table' then return false end
  end
  return true
end

-- The bucket of a pace: the position where it is full, and the interval and position that this was computed with.
local function is_bucket(full, interval, from)
  return is_count(interval) and is_count(from) and (full == 0 or (interval > 0 and full >= from))
end

-- Whether everything after the base is as this script would have written it.
local function is_sound(p)
  local at, count = 2, 0
  while p[at] ~= nil and p[at] ~= HOLDS do
    local tag, a, b = p[at], p[at + 1], p[at + 2]
    local algorithm = is_count(tag) and algorithm_of(tag)
    if algorithm == SLIDING_LOG then
      if not is_log(a) then return false end
    elseif algorithm == GCRA then
      if not (is_count(a) and is_count(b)) or (a > 0 and b == 0) then return false end
    elseif algorithm == FIXED_WINDOW or algorithm == CALENDAR or algorithm == SLIDING_WINDOW or algorithm == PACE
      or algorithm == SHARE then
      if not (is_count(b) and (a == -1 or is_count(a))) then return false end
      if (algorithm == SLIDING_WINDOW or algorithm == PACE) and not is_count(p[at + 3]) then return false end
      if algorithm == SHARE and not (is_count(p[at + 3]) and is_count(p[at + 4]) and is_count(p[at + 5])) then
        return false
      end
      if algorithm == PACE and not is_bucket(p[at + 3], p[at + 4], p[at + 5]) then return false end
    else
      return false
    end
    at = at + 1 + widths[algorithm]
  end
  if p[at] == HOLDS then
    if not are_holds(p[at + 1]) then return false end
    at = at + 2
  end
  for _ in pairs(p) do count = count + 1 end
  return count == at - 1
end

-- The state in a value; anything but one whole array that starts with a time is not ours.
local function unpack_state(value)
  local first = value:byte()
  if first < EMPTY_ARRAY or (first > LONGEST_SHORT_ARRAY and first ~= ARRAY_16 and first ~= ARRAY_32) then return false end
  local rest, p = cmsgpack.unpack_one(value)
  return rest == -1 and type(p) == 'table' and is_count(p[BASE]) and p[BASE] > 0 and is_sound(p) and p
end

local function unpack_all(raw, states)
  for k = 1, #KEYS do
    if raw[k] then states[k] = unpack_state(raw[k]) end
  end
end

-- Reads all subjects: their states (nil for none, false for what is not ours or of another format), and their stored
-- values.
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
      raw[k], states[k] = raw[k]:byte() == OTHER_FORMAT and '\195' or '\194', false
    end
  end
  -- MGET returns nil also for keys of other types; other programs wrote those, and they must not be overwritten.
  if #none > 0 and call('EXISTS', unpack(none)) > 0 then
    for k = 1, #KEYS do
      if states[k] == nil and call('EXISTS', KEYS[k]) == 1 then raw[k], states[k] = '\194', false end
    end
  end
  return raw, states
end
