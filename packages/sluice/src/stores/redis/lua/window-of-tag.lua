-- The window of a tag, inlined. Reads `tag`, and sets `length` (ms) and `aligned`, as limit_of_tag of tags.lua does
-- with a table.
local aligned
if tag < FIRST_WIDE_TAG then
  local usual = tag % 4
  length = usual == 1 and 60000 or usual == 2 and 3600000 or usual == 3 and 86400000 or 1000
  aligned = tag >= 4
else
  local rest = floor((tag - FIRST_WIDE_TAG) / 128)
  length, aligned = floor(rest / 2), rest % 2 == 1
end
