-- Computes `debt`, how far the bucket of a pace is from full: `debtAt` of core/algorithms/pace.ts. Inputs are the
-- current `position` and `interval`, and what is stored: `full`, and `before` and `from`, the interval and position
-- that it was computed with.
local reached = max(position, from)
local debt = max(0, full - reached)
if before ~= interval and full ~= 0 then
  debt = max(ceil(debt / before) * interval, ceil((full - from) / before) * interval - (reached - from))
  debt = min(FARTHEST, debt)
end
