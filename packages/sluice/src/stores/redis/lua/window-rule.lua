-- The rule of fixed windows, inlined wherever one is read. Reads
--   age        the age of the stored window (ms); negative when there is none
--   length     the length of the window that the clock is in
--   clock_age  the age of that window; negative when windows start at the first hit
-- and leaves `current`, whether the stored window is still in progress. If it is not, `age` becomes that of a window
-- that starts now.
local current = age >= 0 and (age == clock_age or (clock_age < 0 and age < length))
if not current then age = clock_age < 0 and 0 or clock_age end
