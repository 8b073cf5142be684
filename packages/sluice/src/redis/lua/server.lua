-- What a script needs from its server: its commands and its time. Tests replace this file by one with a clock of their
-- own.

local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
