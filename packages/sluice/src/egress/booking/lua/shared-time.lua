-- Shared time may lose but never gain. See simulation/shared-time.ts.

--- @const GUARD_US = 2000
--- @const UNVERIFIED_US = 1500000

local function forget_unverified()
  meta.time = meta.verified
  meta.offset = meta.time - clock
  meta.epoch = meta.epoch + 1
end

local function resume()
  local passed = max(0, min(clock - meta.raw, (asked.wallMs - meta.wall) * 1000))
  meta.verified = max(meta.verified, min(meta.time, meta.verified + passed))
  forget_unverified()
  meta.raw, meta.wall = clock, asked.wallMs
end

local function has_living()
  for _, o in pairs(owners) do if not o.gone then return true end end
  return false
end

local was_set_back = false
do
  local epoch, lost_us, jump = asked.epoch, asked.lostUs, asked.jump
  local known = asked.marker == meta.marker and asked.expectUs >= 0
  if known and jump and jump.offsetUs == meta.offset then
    was_set_back = true
    meta.offset = meta.offset - jump.us
    if jump.isGain then meta.epoch, epoch = meta.epoch + 1, epoch + 1
    else meta.lost, lost_us = meta.lost + jump.us, lost_us + jump.us end
    meta.time = max(clock + meta.offset, meta.verified)
  end
  local lost = clock + meta.offset < meta.time
  meta.time = clock + meta.offset
  local current = known and epoch == meta.epoch and not lost
  local expect = asked.expectUs - (meta.lost - lost_us)
  if current and expect <= meta.time + GUARD_US then
    meta.verified = max(meta.verified, min(meta.time, expect))
    meta.raw, meta.wall = clock, asked.wallMs
  elseif not has_living() or clock - meta.raw > UNVERIFIED_US then resume()
  elseif lost or current or not known then forget_unverified() end
end
local now, time = meta.verified, meta.time
