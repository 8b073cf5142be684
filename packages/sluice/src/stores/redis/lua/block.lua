-- The twin of core/engine/block.ts: marks among the holds, with the empty id and without tags. A set that blocks has
-- its terms in `block`.

local function find_mark(p, set, kind)
  local holds = p[set[LAST] + 2]
  for h = 1, holds and #holds or 0, HOLD_WIDTH do
    if holds[h + HOLD_KIND] == kind then return h end
  end
end

local function unblock(p, set)
  local holds = p[set[LAST] + 2]
  for h = holds and #holds - HOLD_WIDTH + 1 or 0, 1, -HOLD_WIDTH do
    if holds[h] == '' then remove_hold(p, set, h) end
  end
end

-- Counts denials or charges, if the terms of the set say so. Returns whether anything has changed.
local function strike(p, set, counts, times)
  local terms = set.block
  if not terms or terms[BLOCK_COUNTS] ~= counts or times <= 0 or find_mark(p, set, BLOCK) then return false end
  local strikes, count = find_mark(p, set, STRIKES), times
  local holds = p[set[LAST] + 2]
  if strikes then count = count + holds[strikes + HOLD_COST] end
  if count < terms[BLOCK_AFTER] then
    if strikes then holds[strikes + HOLD_COST] = count
    else add_hold(p, set, '', terms[BLOCK_WITHIN] * 1000, count, STRIKES, {}) end
    return true
  end
  local last_block, length = find_mark(p, set, LAST_BLOCK), terms[BLOCK_LENGTH]
  if last_block then length = min(terms[BLOCK_MAX], floor(holds[last_block + HOLD_COST] * terms[BLOCK_GROW])) end
  unblock(p, set)
  add_hold(p, set, '', length * 1000, length, BLOCK, {})
  if terms[BLOCK_GROW] > 1 then add_hold(p, set, '', (length + terms[BLOCK_MAX]) * 1000, length, LAST_BLOCK, {}) end
  return true
end

local function block_for(p, set, us)
  if us == 0 and not find_mark(p, set, BLOCK) then return 0 end
  unblock(p, set)
  if us > 0 then add_hold(p, set, '', us, ceil(us / 1000), BLOCK, {}) end
  return 1
end
