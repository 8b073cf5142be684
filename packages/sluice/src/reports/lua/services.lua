-- Lists the services that report, and adds one.
--
-- KEYS[1]   a sorted set: each service, by when it last reported, in us
-- ARGV[1]   the deadline, see deadline.lua
-- ARGV[2]   the service to add; empty to only list
-- ARGV[3]   how long a service is listed, in ms
-- ARGV[4]   how many are kept
--
-- Reply: status, time, how many follow, then the services. None follow when one is added.

--- @include ../../redis/lua/deadline.lua

local key, service, ttl, most = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', clock - ttl * 1000))
if service == '' then
  local services = call('ZRANGE', key, 0, most - 1)
  return cmsgpack.pack(RAN, clock, #services, unpack(services))
end
if call('ZSCORE', key, service) or call('ZCARD', key) < most then
  call('ZADD', key, string.format('%.0f', clock), service)
  call('PEXPIRE', key, ttl)
end
return cmsgpack.pack(RAN, clock, 0)
