-- What stands before a stored copy: the time, twice, as scripts have no checksum.

local dated = string.rep(string.format('%016.0f', clock), 2)
