-- Who waits. See queue.ts. Members of the sorted set, all with score 0, so that they are in the order of their bytes:
--   ! marker                                    of the state it belongs to
--   c tag NUL caller                            callers that wait
--   t caller NUL tag NUL tenant                 tenants that wait
--   i..., j...                                  the same of those that do not wait and were charged
--   w caller NUL tenant NUL order NUL id NUL process   waiters

--- @const MOST_LOOKED = 64
--- @const ORDER_FROM = 4000000000000000

local function tagged(tag) return string.format('%016.0f', tag) end
local function first_of(from, to, count) return call('ZRANGEBYLEX', Q, '[' .. from, '(' .. to, 'LIMIT', 0, count or 1) end

local function waiter_member(w)
  local order = string.format('%016.0f%012.0f', w.order + ORDER_FROM, w.seq)
  return 'w' .. w.caller .. '\0' .. w.tenant .. '\0' .. order .. '\0' .. w.id .. '\0' .. w.owner
end

-- Callers and tenants by their field. Where each is found in the sorted set is brought up to date before it is read.
local nodes, changed, removed = {}, {}, {}
local function member_of(n)
  if n.tenant then return (n.waiting > 0 and 't' or 'j') .. n.caller .. '\0' .. tagged(n.tag) .. '\0' .. n.tenant end
  return (n.waiting > 0 and 'c' or 'i') .. tagged(n.tag) .. '\0' .. n.caller
end
local function node(field, caller, tenant)
  local n = nodes[field]
  if not n then
    local l = load(field)
    n = { tag = l and l[1] or 0, waiting = l and l[2] or 0, virtual = l and l[3] or 0, caller = caller, tenant = tenant }
    if l then n.member = member_of(n) end
    nodes[field] = n
  end
  return n
end
local function caller_node(w) return node('n' .. w.caller, w.caller) end
local function tenant_node(w) return node('N' .. w.caller .. '\0' .. w.tenant, w.caller, w.tenant) end

local function change(n, tag, waiting) n.tag, n.waiting, changed[n] = tag, waiting, true end
local function flush()
  if #removed > 0 then call('ZREM', Q, unpack(removed)) end
  removed = {}
  for n in pairs(changed) do
    local member = member_of(n)
    if n.member and n.member ~= member then call('ZREM', Q, n.member) end
    if n.member ~= member then call('ZADD', Q, 0, member) end
    n.member = member
  end
end

local waiters, waiter_changed = {}, {}
local function find_waiter(id)
  if waiters[id] == nil then
    waiters[id] = load('w' .. id) or false
  end
  return waiters[id] or nil
end
local function put_waiter(id, w)
  waiters[id], waiter_changed[id] = w or false, true
end

local function enqueue(w)
  local c, t = caller_node(w), tenant_node(w)
  if t.waiting == 0 then meta.tenants = meta.tenants + 1 end
  local caller_tag = c.waiting == 0 and max(c.tag, meta.virtual) or c.tag
  local tenant_tag = t.waiting == 0 and max(t.tag, c.virtual) or t.tag
  change(c, caller_tag, c.waiting + 1)
  change(t, tenant_tag, t.waiting + 1)
  call('ZADD', Q, 0, waiter_member(w))
  meta.waiting = meta.waiting + 1
  for unit, units in pairs(w.units) do queued[unit] = (queued[unit] or 0) + units end
end

local function forget_node(field, member)
  call('ZREM', Q, member)
  if nodes[field] then changed[nodes[field]] = nil end
  nodes[field] = nil
  call('HDEL', S, field)
end

-- Those that do not wait and whose tag has passed start at the same point when they come back.
local function forget_idle(w)
  flush()
  local from = 'j' .. w.caller .. '\0'
  for _, member in ipairs(first_of(from, from .. tagged(caller_node(w).virtual + 1), 2)) do
    forget_node('N' .. w.caller .. '\0' .. string.match(member, '%z([^%z]*)$'), member)
  end
  for _, member in ipairs(first_of('i', 'i' .. tagged(meta.virtual + 1), 2)) do
    local caller = string.match(member, '%z([^%z]*)$')
    if #first_of('j' .. caller .. '\0', 'j' .. caller .. '\1') == 0 then forget_node('n' .. caller, member) end
  end
end

local function left_queue(w)
  local c, t = caller_node(w), tenant_node(w)
  change(c, c.tag, c.waiting - 1)
  change(t, t.tag, t.waiting - 1)
  if t.waiting == 0 then
    meta.tenants = meta.tenants - 1
    forget_idle(w)
  end
  meta.waiting = meta.waiting - 1
  for unit, units in pairs(w.units) do queued[unit] = queued[unit] - units end
end

local function dequeue(w)
  if call('ZREM', Q, waiter_member(w)) == 0 then return false end
  left_queue(w)
  return true
end

local function last_name(member) return string.match(member, '%z([^%z]*)$') end
local function head_of(caller, tenant)
  local from = 'w' .. caller .. '\0' .. tenant
  return first_of(from .. '\0', from .. '\1')[1]
end
local function id_of(member) return string.match(member, '%z([^%z]*)%z[^%z]*$') end

local function first_tenant(caller)
  local found = first_of('t' .. caller .. '\0', 't' .. caller .. '\1')[1]
  return found and last_name(found)
end

-- The first waiters of the tenant whose turn it is, read ahead: while only one tenant waits, its turn remains.
local heads, at_head = {}, 1
local function first_waiter()
  if meta.tenants ~= 1 or not heads[at_head] then
    flush()
    local found = first_of('c', 'd')[1]
    local caller = found and last_name(found)
    local tenant = caller and first_tenant(caller)
    local from = tenant and 'w' .. caller .. '\0' .. tenant
    heads, at_head = from and first_of(from .. '\0', from .. '\1', meta.tenants == 1 and MOST_LOOKED or 1) or {}, 1
  end
  return heads[at_head] and find_waiter(id_of(heads[at_head]))
end

-- The first waiter has had its turn.
local function dequeue_first(w)
  removed[#removed + 1] = heads[at_head]
  at_head = at_head + 1
  left_queue(w)
end

local function charge(w)
  local c, t = caller_node(w), tenant_node(w)
  meta.virtual = max(meta.virtual + 1, c.tag)
  c.virtual = max(c.virtual + 1, t.tag)
  change(c, c.tag + w.charge, c.waiting)
  change(t, t.tag + w.tenant_charge, t.waiting)
end

-- One that was forgotten meanwhile has nothing to be refunded.
local function refund(w)
  local c, t = caller_node(w), tenant_node(w)
  if c.tag >= w.charge then change(c, c.tag - w.charge, c.waiting) end
  if t.tag >= w.tenant_charge then change(t, t.tag - w.tenant_charge, t.waiting) end
end

local function ahead_of(w)
  local own = tenant_node(w).waiting
  local from = 'w' .. w.caller .. '\0' .. w.tenant .. '\0'
  local rank = own > 0 and call('ZLEXCOUNT', Q, '[' .. from, '(' .. waiter_member(w)) or 0
  local others = meta.tenants - (own > 0 and 1 or 0)
  return rank + min(meta.waiting - own, (rank + 1) * others)
end

local function least_ahead()
  flush()
  local callers = first_of('c', 'd', MOST_LOOKED)
  if #callers == 0 then return 0 end
  local heads, caller = {}, last_name(callers[1])
  if #callers > 1 then
    for at, each in ipairs(callers) do heads[at] = head_of(last_name(each), first_tenant(last_name(each))) end
  else
    local tenants = first_of('t' .. caller .. '\0', 't' .. caller .. '\1', MOST_LOOKED)
    if #tenants > 1 then
      for at, each in ipairs(tenants) do heads[at] = head_of(caller, last_name(each)) end
    else
      local from = 'w' .. caller .. '\0' .. last_name(tenants[1])
      heads = first_of(from .. '\0', from .. '\1', MOST_LOOKED)
    end
  end
  for at, head in ipairs(heads) do if last_name(head) == owner then return at - 1 end end
  return #heads
end

-- A queue that is gone, or that belongs to a state that is gone, is made again from those who wait.
if not call('ZSCORE', Q, '!' .. meta.marker) then
  call('DEL', Q)
  call('ZADD', Q, 0, '!' .. meta.marker)
  meta.waiting, meta.tenants, meta.virtual, queued = 0, 0, 0, {}
  local is_due = {}
  for _, each in ipairs(due) do is_due[each[1]] = true end
  local ids = {}
  for _, field in ipairs(call('HKEYS', S)) do
    local kind = string.sub(field, 1, 1)
    if kind == 'n' or kind == 'N' then call('HDEL', S, field)
    elseif kind == 'w' and not is_due[string.sub(field, 2)] then ids[#ids + 1] = string.sub(field, 2) end
  end
  for _, id in ipairs(ids) do enqueue(find_waiter(id)) end
end

local function save_queue()
  flush()
  for n in pairs(changed) do
    put(n.tenant and 'N' .. n.caller .. '\0' .. n.tenant or 'n' .. n.caller, { n.tag, n.waiting, n.virtual })
  end
  for id in pairs(waiter_changed) do put('w' .. id, waiters[id]) end
end
