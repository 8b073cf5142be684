-- What becomes of calls that were granted. See grants.ts, and simulation/sharing.ts for what is registered.

--- @const SLACK_US = 500000
--- @const MIRROR_LASTS_US = 4000000

local function enter_all(at, units, least)
  for _, limit in ipairs(logged) do enter(limit, at, cost_of(limit, units), least) end
end

local function take_out_of_all(g)
  for _, limit in ipairs(logged) do take_out(limit, g.arrives, cost_of(limit, g.units)) end
end

local function put_grant(process, name, g)
  grants(process)[name], grants_changed[process] = g, true
end

local function grant(w)
  meta.numbers = meta.numbers + 1
  local arrives = time + HOLD_US + (w.arrival < 0 and rules.timeoutMs * 1000 or max(w.arrival, meta.widened))
  if arrives > time + HOLD_US + rules.arrivalMs * 1000 then meta.long = max(meta.long, arrives) end
  enter_all(arrives, w.units, time)
  for _, limit in ipairs(logged) do if limit.log.total >= limit.amount then limit.log.full = now end end
  local name = meta.marker .. '.' .. whole(meta.numbers)
  put_grant(w.owner, name, { arrives = arrives, no = asked.no, units = w.units, id = w.id })
  owners[w.owner].granted = owners[w.owner].granted + 1
  return meta.numbers
end

-- Grants that the process did not receive: it books their calls again.
local function void_unreceived()
  local voided = {}
  for name, g in pairs(grants(owner)) do
    if g.no > asked.answered and g.no < asked.no then
      take_out_of_all(g)
      owners[owner].granted = owners[owner].granted - 1
      put_grant(owner, name, nil)
      voided[#voided + 1] = g.id
    end
  end
  table.sort(voided)
  return voided
end

local function give_back(step)
  local g = grants(owner)[step.grant]
  if not g then return { 'gone' } end
  take_out_of_all(g)
  put_grant(owner, step.grant, nil)
  return { 'ok' }
end

local function settle(g, units)
  for _, limit in ipairs(logged) do
    if units[limit.unit] and limit.unit ~= 'requests' then
      local more = units[limit.unit] - cost_of(limit, g.units)
      if more < 0 then take_out(limit, g.arrives, -more) else enter(limit, time, more, time) end
    end
  end
end

local function move_down(name, g, at)
  if at >= g.arrives then return end
  for _, limit in ipairs(logged) do enter(limit, at, take_out(limit, g.arrives, cost_of(limit, g.units)), at) end
  g.arrives = at
  put_grant(owner, name, g)
end

local function report(step)
  local g, at = grants(owner)[step.grant], time + step.inUs
  if step.late then
    if g then take_out_of_all(g) end
    local units = g and g.units or step.units or {}
    enter_all(at, units, at)
    put_grant(owner, step.grant, { arrives = at, no = 0, units = units })
    meta.long = max(meta.long, at)
  elseif not g then return { 'gone' }
  else
    move_down(step.grant, g, at)
    if step.units then settle(g, step.units) end
  end
  if step.final then put_grant(owner, step.grant, nil) end
  return { 'ok' }
end

local function enter_mirrors(step)
  for _, mirror in ipairs(step.mirrors) do
    for _, limit in ipairs(logged) do
      local log = limit.log
      if limit.key == mirror.key and log.mirrored == 0 and mirror.agoUs <= MIRROR_LASTS_US then
        log.mirrored, log.since, log.changed = time - mirror.agoUs, 0, true
        if mirror.completeUs >= 0 then log.since = max(1, log.mirrored - mirror.completeUs) end
        for _, entry in ipairs(mirror.entries) do enter(limit, time + entry[1], entry[2], time + entry[1]) end
      end
    end
  end
end

local function register(step, is_first)
  local o = owners[owner]
  o.granted, o.left = o.ended + step.inFlight, false
  if not is_first then return { 'ok' } end
  if now < meta.open then enter_mirrors(step) end
  local kept = {}
  for name, g in pairs(grants(owner)) do kept[name] = g end
  for _, each in ipairs(step.grants) do
    local at, before = time + each.inUs, kept[each.grant]
    if before then
      if each.inUs <= 0 then move_down(each.grant, before, at) end
      kept[each.grant] = nil
    else
      for _, limit in ipairs(logged) do
        if limit.log.mirrored == 0 or time - each.agoUs >= limit.log.mirrored - SLACK_US then
          enter(limit, at, cost_of(limit, each.units), min(time, at))
        end
      end
      if each.inUs > 0 then put_grant(owner, each.grant, { arrives = at, no = 0, units = each.units }) end
    end
  end
  for name, g in pairs(kept) do
    move_down(name, g, time)
    put_grant(owner, name, nil)
  end
  return { 'ok' }
end
