-- Bodies for wrk: `wrk -s post.lua URL -- SIZE`. SIZE 1 is one decision, above that a batch.
-- Bodies are made beforehand and used in turn, so that making them is not measured.
local bodies = {}
local at = 0

local function check(number)
  return string.format('{"key":"user:%d","rule":"per-user"}', number)
end

function init(args)
  local size = tonumber(args[1])
  for b = 1, 512 do
    if size == 1 then
      bodies[b] = check(b)
    else
      local checks = {}
      for c = 1, size do checks[c] = check(b * size + c) end
      bodies[b] = '{"checks":[' .. table.concat(checks, ',') .. ']}'
    end
  end
  wrk.headers['content-type'] = 'application/json'
end

function request()
  at = at % #bodies + 1
  return wrk.format('POST', nil, nil, bodies[at])
end
