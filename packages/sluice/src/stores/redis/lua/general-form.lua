-- The sets and asks of decide.lua in what fast-takes.lua was sent, for subjects that it cannot decide.

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

local function general_form(list)
  local sets, asks, indices, set, first, runs = {}, {}, {}, FIRST_SET, 1, list[1]
  --- @inline usual-run.lua
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
