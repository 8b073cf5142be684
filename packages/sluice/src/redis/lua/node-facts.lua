-- Returns which run of a server serves a key, and how many keys that server has evicted. After a restart, or on another
-- server, the run id differs.
--
-- KEYS[1]   any key; it only chooses the node of a cluster
-- ARGV      see deadline.lua
-- Reply: status, time, run id, evicted keys since the server started

--- @include deadline.lua

local function field(section, name)
  return string.match(call('INFO', section), name .. ':(%w+)')
end

return cmsgpack.pack(RAN, clock, field('server', 'run_id'), tonumber(field('stats', 'evicted_keys')))
