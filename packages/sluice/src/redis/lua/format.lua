-- Every stored value has a format number. Format 1 states none; a value of a later format starts with OTHER_FORMAT, a
-- byte that starts neither a MessagePack value nor a text, and its number. docs/design.md says who writes which.

--- @const OTHER_FORMAT = 193

local function is_later(value) return value and string.byte(value) == OTHER_FORMAT end

-- The reply of a script that found such a value and left it as it is; see failure.ts.
local function refuse_later(key)
  return redis.error_reply('FORMAT A newer version of Sluice wrote a Redis key in a format that this one does not know: ' .. key)
end
