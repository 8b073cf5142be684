-- Where an instant stands on the curve of a pace, inlined. Reads `at_ms`; the segment of the curve that it is in:
-- `begins`, `ends`, and the positions `rises_from` and `rises_to`; and the limit's `amount` and `burst`. Leaves
-- `position`, and `most`, what may be spent in the period until then.
local position = rises_from + floor((at_ms - begins) / (ends - begins) * (rises_to - rises_from))
local most = min(amount, floor(amount * (position / CURVE_END)) + burst)
