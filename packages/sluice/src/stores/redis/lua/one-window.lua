-- One take of a subject with one window, inlined wherever there is one. Reads
--   value      the stored subject, or false
--   tag, amount, length, clock_age   its limit, as in window-rule.lua
--   cost, granted                    what one copy costs, and how many are requested
-- and leaves `granted`, `age`, `count` before the take, and `current`. Returns nil when the general path must decide.
local age, count = -1, 0
if value then
  local rest, base, stored_tag
  rest, base, stored_tag, age, count = unpack_limit(value, ONE_WINDOW, 1)
  if byte(value) ~= EMPTY_ARRAY + ONE_WINDOW or rest ~= -1 or stored_tag ~= tag or not (base > 0 and base <= clock) then
    return nil
  end
  if age >= 0 then age = age + clock_ms - floor(base / 1000) elseif age ~= -1 then return nil end
end
--- @inline window-rule.lua
if not current then count = 0 elseif not (count >= 0 and count < MAX_NUMBER) then return nil end
if amount - count < granted * cost then granted = floor((amount - count) / cost) end
