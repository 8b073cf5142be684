-- The names of the numbers that scripts and client exchange. The generator fills in the values and exports the names to
-- the client too.

-- The algorithms, in the order of core/algorithms.
--- @const FIXED_WINDOW = 0
--- @const SLIDING_WINDOW = 1
--- @const SLIDING_LOG = 2
--- @const GCRA = 3
--- @const CALENDAR = 4
--- @const CONCURRENCY = 5
--- @const PACE = 6
--- @const SHARE = 7

-- An encoded limit: the fields that all limits have, then those of some algorithms only.
--- @const ALGORITHM = 1
--- @const TAG = 2     -- what it counts, see core/engine/limit-set.ts
--- @const FIRST = 3   -- the index of its first field in the state
--- @const AMOUNT = 4
--- @const PERIOD = 5  -- ms
--- @const ALIGNED = 6 -- fixed-window: 1 when windows start at multiples of the period, 0 when at the first hit
--- @const TICK = 6    -- sliding-log: us that entries share; 1 when each has its own time
--- @const INTERVAL = 6 -- gcra: us per unit; pace: positions on the curve per unit
--- @const BURST = 7   -- gcra, pace
--- @const START = 6   -- calendar: the start of the period (ms),
--- @const MIDDLE = 7  -- the end of it, which is the start of the next,
--- @const END = 8     -- and the end of that
--- @const GUARANTEED = 6 -- share: the units that its class is guaranteed,
--- @const LIFE = 7       -- for how long the state of a window is kept (ms),
--- @const NEXT_LIFE = 8  -- and that of the next calendar period

--- @const SEGMENT = 8 -- pace: two segments of the curve one after the other, see core/algorithms/pace-curve.ts
--- @const SEGMENT_END = 1 -- the offsets after the start of a segment (ms): its end,
--- @const SEGMENT_FROM = 2 -- its positions at start
--- @const SEGMENT_TO = 3   -- and end,
--- @const PERIOD_START = 4 -- the start and
--- @const PERIOD_END = 5   -- the end of its period
--- @const SEGMENT_WIDTH = 6
--- @const CURVE_END = 1125899906842624 -- 2^50
--- @const FARTHEST = 4503599627370496 -- 2^52

-- An encoded set is a list of limits. The script adds the index of the last field of the state.
--- @const LAST = 0

-- A state is an array: the time of the last write, then the tag and the fields of each limit, then HOLDS and the holds,
-- if any.
--- @const BASE = 1
--- @const HOLDS = 127
--- @const FIRST_WIDE_TAG = 128
--- @const MAX_NUMBER = 9007199254740992 -- every number in it is below 2^53, where integers are exact
--- @const MAX_KEPT = 32 -- limits in it that its last writer did not have, see core/engine/convert-state.ts

-- Holds are one flat list; these are the offsets of a hold's fields after its id.
--- @const HOLD_AGE = 1  -- us since it was taken
--- @const HOLD_LEFT = 2 -- us until it expires
--- @const HOLD_COST = 3
--- @const HOLD_KIND = 4
--- @const HOLD_TAGS = 5 -- of the limits it was taken from
--- @const HOLD_WIDTH = 6
--- @const MAX_TAKINGS = 4 -- entries of one hold, see core/engine/holds.ts

-- The kinds of holds, see core/algorithms/state.ts.
--- @const RESERVE = 0
--- @const ACQUIRE = 1
--- @const RECEIPT = 2
--- @const PENDING = 3
--- @const BLOCK = 4      -- this and the next two hold nothing, see core/engine/block.ts
--- @const STRIKES = 5
--- @const LAST_BLOCK = 6
--- @const PERMITS_ONLY = 7 -- never stored: a request to acquire only where there is a concurrency limit

-- A call of decide.lua with more arguments is the usual one of fast-takes.lua.
--- @const JSON_ARGUMENTS = 2

-- The kinds of asks.
--- @const TAKE_EACH = 0
--- @const TAKE = 1
--- @const SETTLE = 2
--- @const EXTEND = 3
--- @const REFUND = 4
--- @const RESET = 5
--- @const DEBIT = 6
--- @const RAISE = 7
--- @const RESIZE = 8
--- @const BLOCK_FOR = 9

-- The terms of a set that blocks, see core/engine/block.ts. Times are in ms.
--- @const BLOCK_SET = 1
--- @const BLOCK_COUNTS = 2
--- @const BLOCK_AFTER = 3
--- @const BLOCK_WITHIN = 4
--- @const BLOCK_LENGTH = 5
--- @const BLOCK_GROW = 6
--- @const BLOCK_MAX = 7
--- @const DENIALS = 0
--- @const CHARGES = 1

-- The list of fast-takes.lua: the index of its first set, and the numbers of a window and of a run.
--- @const FIRST_SET = 2
--- @const WINDOW_WIDTH = 5
--- @const WINDOW_TAG = 1
--- @const WINDOW_AMOUNT = 2
--- @const WINDOW_LENGTH = 3
--- @const WINDOW_START = 4
--- @const RUN_WIDTH = 4

-- The values of a stored subject with one window, and of one with a calendar limit and its pace.
--- @const ONE_WINDOW_FIELDS = 4
--- @const PACED_FIELDS = 10

-- A calendar limit and its pace in that list: PACED instead of the number of windows, then these, and last the end of
-- the next period.
--- @const PACED = -1
--- @const PACED_TOTAL = 2    -- after the tag of the calendar limit: its amount,
--- @const PACED_TAG = 3      -- the tag of the pace,
--- @const PACED_AMOUNT = 4   -- its amount,
--- @const PACED_BURST = 5    -- burst
--- @const PACED_INTERVAL = 6 -- and interval,
--- @const PACED_SEGMENT = 7  -- the segment of the curve, and the one after it
--- @const PACED_WIDTH = 19

-- First bytes of MessagePack values, as numbers and (in texts) as escapes: \192 is nil, \194 is false, \195 is true.
--- @const EMPTY_ARRAY = 144
--- @const LONGEST_SHORT_ARRAY = 159
--- @const ARRAY_16 = 220
--- @const ARRAY_32 = 221
--- @const OTHER_FORMAT = 193 -- never a first byte, see state.lua
