-- The fast path, for nearly every call: takes without holds, of subjects whose limits are all fixed windows or calendar
-- periods, or one calendar period and its pace. When a subject is anything else (other limits, holds, a clock that is
-- ahead, a value that is not ours), nothing has been written, and the general path further down decides everything. Its
-- functions are not even created before.
--
-- The usual call takes the same of each key, under one window. Its arguments after the deadline are plain numbers, and
-- few: for Redis, an argument, or parsing a number from text, costs about a quarter of a command.
--   ARGV[2..3]   tag, which says all about a window but its amount, and the amount
--   ARGV[4..5]   cost and copies, unless both are 1
-- Any other call has
--   ARGV[2]   JSON: { index of the first run, sets, runs }
--               set: how many windows, then for each: tag, amount, length (ms), start of one of them
--                 (ms; -1: at the first hit; above 0: a calendar period), length of the next calendar period
--               paced set: PACED, then as in constants.lua
--               run: last key, index of the set, cost, copies. It begins after the last key of the run before

-- Returns what is stored, how many copies were granted in all, the packed time, what to write, and for how many ms
-- unless the stored value already expires later. What is stored, to write and for how long are tables by key, except of
-- a lone key. Returns nil when the general path must decide.
local function fast_takes(call, clock, list)
  local byte, floor, pack, unpack_limit = string.byte, math.floor, cmsgpack.pack, cmsgpack.unpack_limit
  local clock_ms, packed_clock, last = floor(clock / 1000), pack(clock), #KEYS
  local runs, last_run, windows, cost, copies = 1, 1, 1, 1, 1
  local tag, amount, length, clock_age
  if not list then
    -- `tonumber` would parse each text twice.
    tag, amount, clock_age = ARGV[2] + 0, ARGV[3] + 0, -1
    if ARGV[4] then cost, copies = ARGV[4] + 0, ARGV[5] + 0 end
    --- @inline window-of-tag.lua
    if aligned then clock_age = clock_ms % length end
  else
    runs, last_run = list[1], #list
    local set = FIRST_SET
    while set < runs do
      local paced = list[set] == PACED
      local last = set + (paced and PACED_WIDTH or WINDOW_WIDTH * list[set])
      if paced then
        local segment = set + PACED_SEGMENT
        if clock_ms < list[segment] or clock_ms >= list[segment + SEGMENT_END] then return nil end
      end
      for s = set, paced and set - 1 or last - WINDOW_WIDTH, WINDOW_WIDTH do
        -- Replaces the start by the age of the window that the clock is in, which is the same for all subjects.
        local length, start = list[s + WINDOW_LENGTH], list[s + WINDOW_START]
        if start > 0 and (clock_ms < start or clock_ms >= start + length) then return nil end
        if start >= 0 then list[s + WINDOW_START] = (clock_ms - start) % length end
      end
      set = last + 1
    end
  end

  -- A lone key, as in most calls of a service whose requests come one at a time, is read by the cheaper command, which
  -- raises an error for a key of another type; and it needs no tables.
  local raw, written, life, values, lives
  if last == 1 then raw = call('GET', KEYS[1])
  else raw, values, lives = call('MGET', unpack(KEYS)), {}, {} end
  local total, first = 0, 1
  for run = runs, last_run, RUN_WIDTH do
    local set
    if list then
      last, set, cost, copies = list[run], list[run + 1], list[run + 2], list[run + 3]
      windows = list[set]
    end
    if windows == PACED then
      local max, min, ceil = math.max, math.min, math.ceil
      local tag, total_amount, pace_tag = list[set + 1], list[set + PACED_TOTAL], list[set + PACED_TAG]
      local amount, burst, interval = list[set + PACED_AMOUNT], list[set + PACED_BURST], list[set + PACED_INTERVAL]
      local s, at_ms = set + PACED_SEGMENT, clock_ms
      local begins, ends, rises_from, rises_to = list[s], list[s + SEGMENT_END], list[s + SEGMENT_FROM], list[s + SEGMENT_TO]
      --- @inline pace-plan.lua
      local age, left = clock_ms - list[s + PERIOD_START], list[s + PERIOD_END] - clock_ms
      for k = first, last do
        local value, granted, count, spent = raw, copies, 0, 0
        if values then value = raw[k] end
        local full, before, from = 0, 0, 0
        if value then
          local rest, base, tag_1, age_1, count_1, tag_2, age_2, count_2, full_2, before_2, from_2 =
            unpack_limit(value, PACED_FIELDS, 1)
          if byte(value) ~= EMPTY_ARRAY + PACED_FIELDS or rest ~= -1 or base <= 0 or base > clock then return nil end
          if tag_1 ~= tag or tag_2 ~= pace_tag then return nil end
          local since = age - (clock_ms - floor(base / 1000))
          -- -1: there is no period in progress.
          if not (age_1 >= -1 and age_2 >= -1) then return nil end
          if age_1 >= 0 and age_1 == since then count = count_1 end
          if age_2 >= 0 and age_2 == since then spent, full, before, from = count_2, full_2, before_2, from_2 end
          if not (count >= 0 and count < MAX_NUMBER and spent >= 0 and spent < MAX_NUMBER and full >= 0 and full < MAX_NUMBER) then
            return nil
          end
          if not (from >= 0 and from < MAX_NUMBER and before >= 0 and before < MAX_NUMBER) then return nil end
          if full > 0 and not (before > 0 and full >= from) then return nil end
        end
        --- @inline pace-room.lua
        room = min(room, total_amount - count)
        if room < granted * cost then granted = floor(room / cost) end
        if granted > 0 then
          local units = granted * cost
          total = total + granted
          full = min(FARTHEST, position + debt + units * interval)
          -- \154: an array of PACED_FIELDS values.
          written = '\154' .. packed_clock
            .. pack(tag, age, count + units, pace_tag, age, spent + units, full, interval, position)
          life = (count == 0 or spent == 0) and left
          if values then values[k], lives[k] = written, life end
        end
      end
    elseif windows == 1 then
      -- One limit, as most rules have, needs no table for its state: that saves a quarter of the time of a large batch.
      if list then
        tag, amount = list[set + WINDOW_TAG], list[set + WINDOW_AMOUNT]
        length, clock_age = list[set + WINDOW_LENGTH], list[set + WINDOW_START]
      end
      for k = first, last do
        local value, granted, age, count = raw, copies, -1, 0
        if values then value = raw[k] end
        if value then
          local rest, base, stored_tag
          rest, base, stored_tag, age, count = unpack_limit(value, ONE_WINDOW_FIELDS, 1)
          if byte(value) ~= EMPTY_ARRAY + ONE_WINDOW_FIELDS or rest ~= -1 or stored_tag ~= tag then return nil end
          if not (base > 0 and base <= clock) then return nil end
          if age >= 0 then age = age + clock_ms - floor(base / 1000) elseif age ~= -1 then return nil end
        end
        --- @inline window-rule.lua
        if not current then count = 0 elseif not (count >= 0 and count < MAX_NUMBER) then return nil end
        if amount - count < granted * cost then granted = floor((amount - count) / cost) end
        if granted > 0 then
          total = total + granted
          -- \148: an array of ONE_WINDOW_FIELDS values.
          written = '\148' .. packed_clock .. pack(tag, age, count + granted * cost)
          life = not current and length - age
          if values then values[k], lives[k] = written, life end
        end
      end
    else
      local size = 1 + 3 * windows
      local array = EMPTY_ARRAY + size
      local head = string.char(array) .. packed_clock
      for k = first, last do
        -- A state as in state.lua, with one more value before it: whether anything follows it.
        local value, p, ms = raw, nil, 0
        if values then value = raw[k] end
        if value then
          p = { unpack_limit(value, size, 1) }
          if byte(value) ~= array or p[1] ~= -1 or not (p[2] > 0 and p[2] <= clock) then return nil end
          ms = clock_ms - floor(p[2] / 1000)
        else
          p = { -1, clock }
        end
        -- For how long windows in progress need the state, and those that begin now.
        local granted, kept, begun, s = copies, 0, 0, set
        for o = 3, size, 3 do
          local tag, room = list[s + WINDOW_TAG], list[s + WINDOW_AMOUNT]
          local length, clock_age, age = list[s + WINDOW_LENGTH], list[s + WINDOW_START], -1
          if value then
            if p[o] ~= tag then return nil end
            local stored = p[o + 1]
            if stored >= 0 then age = stored + ms elseif stored ~= -1 then return nil end
          end
          --- @inline window-rule.lua
          if current then
            local count = p[o + 2]
            if not (count >= 0 and count < MAX_NUMBER) then return nil end
            room = room - count
            p[o + 1] = age
            if length - age > kept then kept = length - age end
          else
            p[o], p[o + 1], p[o + 2] = tag, age, 0
            if length - age > begun then begun = length - age end
          end
          if room < granted * cost then
            granted = floor(room / cost)
            if granted <= 0 then break end
          end
          s = s + WINDOW_WIDTH
        end
        if granted > 0 then
          total = total + granted
          for o = 5, size + 1, 3 do p[o] = p[o] + granted * cost end
          written, life = head .. pack(unpack(p, 3)), begun > kept and begun
          if values then values[k], lives[k] = written, life end
        end
      end
    end
    first = last + 1
  end
  return raw, total, packed_clock, values or written, lives or life
end

local json = #ARGV == JSON_ARGUMENTS and cjson.decode(ARGV[2])
if not json or type(json[1]) == 'number' then
  local ran, raw, total, now, written, life = pcall(fast_takes, call, clock, json)
  if ran and total and #KEYS == 1 then
    -- One ms more, as Redis counts whole ms from before the script.
    if life then call('SET', KEYS[1], written, 'PX', life + 1)
    elseif written then call('SET', KEYS[1], written, 'KEEPTTL') end
    -- \0: RAN. Small numbers are packed as the byte of their value.
    return '\0' .. now .. (total == 1 and '\1' or cmsgpack.pack(total)) .. (raw or '\192')
  end
  local none = {}
  for k = 1, ran and total and #KEYS or 0 do
    if not raw[k] then raw[k], none[#none + 1] = '\192', KEYS[k] end
  end
  -- MGET returns nil also for keys of other types; other programs wrote those, and they must not be overwritten.
  if ran and total and (#none == 0 or call('EXISTS', unpack(none)) == 0) then
    for k = 1, #KEYS do
      if life[k] then call('SET', KEYS[k], written[k], 'PX', life[k] + 1)
      elseif written[k] then call('SET', KEYS[k], written[k], 'KEEPTTL') end
    end
    return '\0' .. now .. cmsgpack.pack(total) .. table.concat(raw)
  end
end
