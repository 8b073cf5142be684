-- The run that is left out when it is the only one and the usual one, inlined. Reads `list` and `runs`.
if runs > #list then list[runs], list[runs + 1], list[runs + 2], list[runs + 3] = #KEYS, FIRST_SET, 1, 1 end
