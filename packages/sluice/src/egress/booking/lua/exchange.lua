-- One exchange of one process with the state of one upstream: does the same as exchange.ts, step for step.
--
-- KEYS[1]   hash: everything but the order of those who wait (see state.lua)
-- KEYS[2]   sorted set: who waits (see queue.lua); made again from the hash when it is gone
-- ARGV[2]   JSON: the exchange (see messages.ts)
--
-- Reply after status and time: marker, known, time, verified, epoch, offset, lost, results, grants, paused, voided,
-- ask in, recovering, paced, paused, widened, widened for, depth, processes, used, mirrors. A result is { name, a, b }.

--- @include ../../../redis/lua/deadline.lua
--- @include ../../../redis/lua/format.lua
--- @const GONE_US = 3000000
--- @include state.lua
if is_new then
  for _, field in ipairs(call('HKEYS', S)) do
    local kind = string.sub(field, 1, 1)
    if kind ~= 'l' and kind ~= 'p' and kind ~= 'g' then call('HDEL', S, field) end
  end
  due, queued = {}, {}
  -- Processes have to register. Until then their grants are those in the logs.
  for _, o in pairs(owners) do o.gone = true end
end
--- @include shared-time.lua
--- @include log.lua
--- @include capacity.lua
--- @include pauses.lua
--- @include queue.lua
--- @include grants.lua
--- @include book.lua

if is_new then
  meta.start, meta.open, meta.retry = time, now + silence(), now - 1000000
  for _, field in ipairs(call('HKEYS', S)) do
    -- What was kept is complete up to when it was written.
    if string.sub(field, 1, 1) == 'l' then
      local l = load(field)
      put(field, { l[1], l[2], meta.kept, l[4], l[5] })
    end
  end
end

local results, given, paused, mirrors, voided, ask_in = {}, {}, {}, {}, {}, nil
local before = owners[owner]
local registers = asked.steps[1] and asked.steps[1].op == 'register'
local known = asked.marker == meta.marker and before and not before.gone
local runs = (known or registers) and asked.no > (before and before.no or 0)

local function cut_all()
  local latest = max(time + HOLD_US + rules.arrivalMs * 1000, meta.long)
  for _, limit in ipairs(logged) do cut_log(limit, latest) end
  for process in pairs(owners) do
    for name, g in pairs(grants(process)) do
      if g.arrives > latest then
        g.arrives = latest
        put_grant(process, name, g)
      end
    end
  end
end

local function drop_gone()
  for process, o in pairs(owners) do
    local silent = now - o.seen
    local ending = o.left and o.granted > o.ended and silent < rules.timeoutMs * 1000
    if silent >= GONE_US and not ending then
      if not o.gone then
        o.gone = true
        grants_of[process], grants_changed[process] = {}, true
        for _, each in ipairs(due) do if each[2] == process then put_waiter(each[1], nil) end end
        drop_due(function(each) return each[2] == process end)
      end
      if silent >= STATED_US and (o.granted <= o.ended or silent >= rules.timeoutMs * 1000) then
        owners[process] = nil
        grants_of[process], grants_changed[process] = {}, true
      end
    end
  end
end

local function run(step)
  local op = step.op
  if op == 'book' then return book(step, given)
  elseif op == 'cancel' then return cancel(step.id)
  elseif op == 'back' then return give_back(step)
  elseif op == 'report' then return report(step)
  elseif op == 'pause' then return pause(step)
  elseif op == 'refusedWithRoom' then return widen()
  elseif op == 'retry' then return take_retry()
  elseif op == 'register' then return register(step, not before or before.gone) end
  owners[owner].left = true
  return { 'ok' }
end

local function copy_logs()
  for _, limit in ipairs(logged) do
    if HOLD_US + rules.arrivalMs * 1000 + limit.counted > MOST_SILENCE_US then
      local entries, e, complete = {}, limit.log.entries, -1
      if now < paced_until(limit) then complete = max(0, time - limit.log.since) end
      for i = 1, #e, 3 do entries[#entries + 1] = { e[i] - time, e[i + 1] } end
      mirrors[#mirrors + 1] = { limit.key, complete, entries }
    end
  end
end

if runs then
  local o = before or { granted = asked.ended, ended = asked.ended, left = false }
  owners[owner] = {
    seen = now, no = asked.no, granted = o.granted, ended = max(o.ended, asked.ended), left = o.left, gone = false,
    limits = rules.limits,
  }
  keep_logs()
  if was_set_back then cut_all() end
  if now >= meta.widened_until then meta.widened = 0 end
  drop_gone()
  voided = void_unreceived()
  reserve_due()
  for at, step in ipairs(asked.steps) do results[at] = run(step) end
  ask_in = #voided > 0 and 0 or give_turns(given, paused)
  if owners[owner].left and owners[owner].granted <= owners[owner].ended then
    owners[owner] = nil
    grants_of[owner], grants_changed[owner] = {}, true
  end
  forget_pauses()
  if asked.mirror then copy_logs() end
  save_logs()
  save_queue()
end

local function left_ms(until_us) return max(0, ceil((until_us - now) / 1000)) end
local used, paced, processes = {}, 0, 0
for at, each in ipairs(rules.limits) do
  local limit = limit_of(each.key, each.amount)
  limit.log = logs[each.key]
  used[at] = runs and used_of(limit) or 0
  if limit.log then paced = max(paced, paced_until(limit)) end
end
for _, o in pairs(owners) do if not o.gone then processes = processes + 1 end end
local closed = closed_us()
save()
-- State that no process uses expires, long after everything in it has ended.
local keep = 604800000
for _, limit in ipairs(limits) do keep = max(keep, 2 * limit.period) end
call('PEXPIRE', S, keep)
call('PEXPIRE', Q, keep)
return cmsgpack.pack(RAN, clock, meta.marker, runs and 1 or 0, time, now, meta.epoch, meta.offset, meta.lost, results, given, paused,
  voided, ask_in or (closed > 0 and closed or -1), left_ms(meta.open), left_ms(paced), paused_ms(''), ceil(meta.widened / 1000),
  meta.widened > 0 and left_ms(meta.widened_until) or 0, meta.waiting + #due, processes, used, mirrors)
