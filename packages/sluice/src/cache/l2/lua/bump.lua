-- Records an invalidation in the log and publishes it.
--
-- KEYS      see log.lua
-- ARGV[1]   see deadline.lua
-- ARGV[2]   the channel                  ARGV[3]   a text that no other caller sends, for a new generation
-- ARGV[4]   how many keys to remember    ARGV[5]   how many prefixes and tags to remember
-- ARGV[6..] the scopes: k: a key, p: a prefix, t: a tag
-- Reply: status, time, generation, sequence, how long the longest proof of a reader holds (ms)

--- @include ../../../redis/lua/deadline.lua
--- @include note.lua
--- @include longest-proof.lua

local scopes = {}
for i = 6, #ARGV do scopes[i - 5] = ARGV[i] end
local log = open_log(ARGV[3])
local sequence = note(log, scopes, ARGV[4], ARGV[5], ARGV[2])
return cmsgpack.pack(RAN, clock, log.generation, sequence, longest_proof())
