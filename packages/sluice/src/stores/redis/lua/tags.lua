-- What a tag contains about its limit; core/engine/tag.ts explains the numbers.

local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

-- How many fields follow the tag, by algorithm.
local widths = {
  [FIXED_WINDOW] = 2, [SLIDING_WINDOW] = 3, [SLIDING_LOG] = 1, [GCRA] = 2, [CALENDAR] = 2, [PACE] = 5,
  [SHARE] = 5,
}
local usual_periods = { [0] = 1000, 60000, 3600000, 86400000 }
local longest_days = { [0] = 2, 8, 32 }

local function algorithm_of(tag)
  return tag < FIRST_WIDE_TAG and floor(tag / 16) or tag % 8
end

local limits_by_tag = {}

-- The part of a limit that is in its tag: enough to know when its fields end and to return units, not to decide. The
-- fields follow the tag.
local function limit_of_tag(tag)
  local limit = limits_by_tag[tag]
  if limit then return limit end
  local algorithm, usual = algorithm_of(tag), tag < FIRST_WIDE_TAG
  local rest = usual and tag % 16 or floor((tag - FIRST_WIDE_TAG) / 128)
  local period, aligned
  if algorithm == CALENDAR or algorithm == PACE then
    -- A window from the start of the period, longer than it can be.
    algorithm, period, aligned = FIXED_WINDOW, (longest_days[rest % 4] or 400) * 86400000, 0
  elseif usual then
    period, aligned = usual_periods[rest % 4], rest >= 4 and 1 or 0
  else
    period, aligned = floor(rest / 2), rest % 2
  end
  limit = { algorithm, tag, 2, 0, period, aligned, of_pace = algorithm_of(tag) == PACE }
  limits_by_tag[tag] = limit
  return limit
end
