-- The queue: start-time fair queueing over tenants, in order within each. See queue.ts.

local function waiting() return call('ZCARD', Q) end

local function member(w)
  return w.tenant .. '\0' .. string.format('%016.0f%016.0f', w.order + 1e15, w.seq) .. '\0' .. w.id
end

local function length_of(tenant) return call('ZLEXCOUNT', Q, '[' .. tenant .. '\0', '(' .. tenant .. '\1') end

local function rank_of(w) return call('ZLEXCOUNT', Q, '[' .. w.tenant .. '\0', '(' .. member(w)) end

local function tag_of(tenant)
  local score = tonumber(call('ZSCORE', T, tenant) or nil)
  if not score then return nil, false end
  if score >= IDLE then return score - IDLE, false end
  return score, true
end

local function set_tag(tenant, tag, is_waiting) call('ZADD', T, is_waiting and tag or tag + IDLE, tenant) end

local function enqueue(w)
  local tag, is_waiting = tag_of(w.tenant)
  if not tag then tag = meta.virtual
  elseif not is_waiting then tag = max(tag, meta.virtual) end
  local rank = rank_of(w)
  call('ZADD', Q, 0, member(w))
  set_tag(w.tenant, tag, true)
  put_waiter(w.id, w)
  for key, units in pairs(w.units) do add('q' .. key, units) end
  return rank
end

local function dequeue(w)
  if call('ZREM', Q, member(w)) == 0 then return false end
  if length_of(w.tenant) == 0 then set_tag(w.tenant, (tag_of(w.tenant)), false) end
  for key, units in pairs(w.units) do add('q' .. key, -units) end
  return true
end

local function serve(tenant, charge)
  local tag, is_waiting = tag_of(tenant)
  local start = is_waiting and tag or max(tag or meta.virtual, meta.virtual)
  meta.virtual = max(meta.virtual + 1, start)
  set_tag(tenant, start + charge, is_waiting)
  -- Removes a tenant that does not wait and whose tag has passed: a new tenant would start at the same point.
  call('ZREMRANGEBYSCORE', T, IDLE, string.format('(%.0f', IDLE + meta.virtual))
end

local function refund_service(tenant, charge)
  local tag, is_waiting = tag_of(tenant)
  if tag then set_tag(tenant, tag - charge, is_waiting) end
end

local function ahead_of(tenant, rank)
  local own = length_of(tenant)
  local others = call('ZCOUNT', T, '-inf', string.format('(%.0f', IDLE)) - (own > 0 and 1 or 0)
  return rank + min(waiting() - own, (rank + 1) * others)
end
