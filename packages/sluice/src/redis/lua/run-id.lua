-- Tells which run of a server serves a key: a server that restarts, or another one, has another id.
--
-- KEYS[1]   any key; it only chooses the node of a cluster
-- ARGV      see deadline.lua
-- Reply: status, time, run id

--- @include deadline.lua

return cmsgpack.pack(RAN, clock, string.match(call('INFO', 'server'), 'run_id:(%w+)'))
