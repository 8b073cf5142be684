-- Every script of Sluice begins with this.
--
-- ARGV[1]   deadline in this server's time (us); a script that starts later does nothing. 0 only reads the time.
--
-- Reply of every script: one string of MessagePack values. The first two are the status and the time:
-- `cmsgpack.pack(RAN, clock, ...)`.
--
-- Defines `call` (redis.call) and `clock`, the time in us: everything in one script happens at one instant.

-- The status of a reply: the script ran, or it did nothing and may be sent again.
--- @const RAN = 0
--- @const NOT_RUN = 1

--- @include server.lua
-- `tonumber` would parse the text twice.
if clock > ARGV[1] + 0 then return cmsgpack.pack(NOT_RUN, clock) end
