-- The sets and asks of decide.lua, also in what fast-takes.lua was sent, for subjects that it cannot decide.

local function numbers(list, first, count)
  return unpack(list, first, first + count - 1)
end

local function general_window(list, s, first)
  local tag, amount, length, start, next_length = numbers(list, s + WINDOW_TAG, WINDOW_WIDTH)
  if start <= 0 then return { FIXED_WINDOW, tag, first, amount, length, start + 1 } end
  return { CALENDAR, tag, first, amount, length, start, start + length, start + length + next_length }
end

local function general_pace(list, set)
  local tag, total, pace_tag, amount, burst, interval = numbers(list, set + 1, PACED_SEGMENT - 1)
  local segment = set + PACED_SEGMENT
  local starts, ends = list[segment + PERIOD_START], list[segment + PERIOD_END]
  return {
    { CALENDAR, tag, BASE + 2, total, ends - starts, starts, ends, list[set + PACED_WIDTH] },
    { PACE, pace_tag, BASE + 5, amount, ends - starts, interval, burst, numbers(list, segment, 2 * SEGMENT_WIDTH) },
  }
end

-- Of the usual call.
local function general_usual()
  local tag = ARGV[2] + 0
  local window = limit_of_tag(tag)
  local set = { { FIXED_WINDOW, tag, BASE + 2, ARGV[3] + 0, window[PERIOD], window[ALIGNED] } }
  return { set }, { TAKE_EACH, 1, #KEYS, 1, (ARGV[4] or 1) + 0, (ARGV[5] or 1) + 0 }
end

local function general_form(json)
  if not json then return general_usual() end
  if type(json[1]) == 'table' then return json[1], json[2], json[3] end
  -- Again, as fast-takes.lua has changed it.
  local list = cjson.decode(ARGV[2])
  local sets, asks, indices, set, first, runs = {}, {}, {}, FIRST_SET, 1, list[1]
  while set < runs do
    local limits = {}
    indices[set] = #sets + 1
    if list[set] == PACED then
      sets[#sets + 1], set = general_pace(list, set), set + PACED_WIDTH + 1
    else
      for w = 1, list[set] do limits[w] = general_window(list, set + (w - 1) * WINDOW_WIDTH, BASE + 3 * w - 1) end
      sets[#sets + 1], set = limits, set + WINDOW_WIDTH * list[set] + 1
    end
  end
  for run = runs, #list, RUN_WIDTH do
    local last, set, cost, copies = numbers(list, run, RUN_WIDTH)
    for _, number in ipairs({ TAKE_EACH, first, last, indices[set], cost, copies }) do asks[#asks + 1] = number end
    first = last + 1
  end
  return sets, asks
end
