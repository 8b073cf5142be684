-- What a script needs from the server it runs on: its commands and its time. Tests put a clock of their own in the
-- place of this file.

local call = redis.call
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
