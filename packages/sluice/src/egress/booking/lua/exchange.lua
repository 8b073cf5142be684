-- One exchange of one process with the state of one upstream: does the same as exchange.ts, step for step.
--
-- KEYS[1]   hash: everything about places, and the marker of the Redis run that wrote it (see state.lua)
-- KEYS[2]   sorted set, all scores 0: who waits, as `tenant NUL order sequence NUL id`
-- KEYS[3]   sorted set: tenants by their tag in virtual time; those that do not wait are IDLE higher
-- KEYS[4]   sorted set: calls by when they expire (ms)
-- ARGV[2]   JSON: the exchange (see messages.ts)
-- ARGV[3]   channels of processes begin with this
--
-- Reply after status and time: nowMs, epoch, recovering, known, results, held, paused, adopted, wakeMs, pausedMs,
-- depth, processes, used, notify.
--   A result is { name, a, b }.

--- @include ../../../redis/lua/deadline.lua
--- @include state.lua
--- @include queue.lua
--- @include answered-times.lua
--- @include capacity.lua
--- @include pauses.lua
--- @include calls.lua
--- @include book.lua
--- @include instants.lua
--- @include assign.lua

local known = owners[owner] ~= nil
owners[owner] = now
local held, paused = confirm_all()

local results, confirmed = {}, {}
for at, id in ipairs(held) do confirmed[at] = id end
for at, step in ipairs(asked.steps) do
  local op, result = step.op, nil
  if op == 'book' then result = book(step)
  elseif op == 'cancel' then result = cancel(owner, step.id)
  elseif op == 'answered' then result = answered(step)
  elseif op == 'done' then result = done(step)
  elseif op == 'free' then result = free(step)
  elseif op == 'pause' then result = pause(step)
  elseif op == 'retry' then result = take_retry()
  elseif op == 'register' then result = register(step, confirmed)
  elseif op == 'instants' then result = book_instants(step)
  elseif op == 'return' then result = return_instant(step)
  elseif op == 'recovered' then
    if step.epoch == meta.epoch then meta.recovering = 0 end
    result = { 'ok' }
  else
    owners[owner] = LEFT
    result = { 'ok' }
  end
  results[at] = result
end

local adopted = adopt()
local notify = assign(held)
local paused_until = pauses[''] and pauses[''].until_ms or 0
forget_pauses()
local depth = waiting()
local wake = -1
if depth > 0 and paused_until > 0 and now < paused_until + RAMP_MS then
  wake = now < paused_until and paused_until - now or RAMP_STEP_MS
end

local processes = 0
for _ in pairs(owners) do processes = processes + 1 end
local used = {}
for at, limit in ipairs(limits) do used[at] = count('u' .. limit.key) end

save_instants()
save_answered()
save()
local notified = {}
for at, each in ipairs(notify) do
  call('PUBLISH', ARGV[3] .. each.owner, #each.ids)
  notified[at] = { each.owner, each.ids }
end
return cmsgpack.pack(RAN, clock, now, meta.epoch, meta.recovering, known and 1 or 0, results, held, paused, adopted, wake,
  math.max(0, paused_until - now), depth, processes, used, notified)
