-- How much a pace allows, inlined: the twin of core/algorithms/pace.ts. Reads `position` and `most` of pace-plan.lua,
-- `burst` and `interval`, and what is stored: `spent`, `full`, and `before` and `from`, the interval and position that
-- `full` was computed with. Leaves `debt`, how far the bucket is from full, and `room`.
local reached = max(position, from)
local debt = max(0, full - reached)
if before ~= interval and full ~= 0 then
  debt = max(ceil(debt / before) * interval, ceil((full - from) / before) * interval - (reached - from))
  debt = min(FARTHEST, debt)
end
local room = min(most - spent, floor((burst * interval - debt) / interval))
