-- Asks a Sluice daemon whether a request may pass (HAProxy 2.6 and later).
--
--   http-request lua.sluice http://127.0.0.1:8440/v1/auth?headers=x-original
--
-- Sets txn.sluice_status to 200, 429, 503 or 400 as the daemon answered, or to "away" when it did not answer in time,
-- and txn.sluice_wait to the seconds of Retry-After.

local timeout_ms = 1000
-- The body is not sent; the other headers are set here, so that no client can set them.
local not_sent = {
  ["content-length"] = true,
  ["content-type"] = true,
  ["transfer-encoding"] = true,
  ["connection"] = true,
  ["expect"] = true,
  ["host"] = true,
  ["forwarded"] = true,
  ["x-original-method"] = true,
  ["x-original-uri"] = true,
  ["x-forwarded-for"] = true,
}

core.register_action("sluice", { "http-req" }, function(txn, url)
  local headers = {}
  for name, values in pairs(txn.http:req_get_headers()) do
    if not not_sent[name] then
      headers[name] = {}
      -- HAProxy counts values from 0.
      for i = 0, #values do
        table.insert(headers[name], values[i])
      end
    end
  end
  headers["x-original-method"] = { txn.sf:method() }
  headers["x-original-uri"] = { txn.sf:url() }
  headers["x-forwarded-for"] = { txn.sf:src() }

  local answer = core.httpclient():get({ url = url, headers = headers, timeout = timeout_ms })
  local status = answer and answer.status
  -- HAProxy itself answers 503 without headers when it cannot connect; a denial of the daemon carries its own status.
  local own = status and status ~= 200 and answer.headers and answer.headers["sluice-status"]
  if status == 200 then
    txn:set_var("txn.sluice_status", "200")
  elseif own then
    local wait = answer.headers["retry-after"]
    txn:set_var("txn.sluice_status", own[0])
    txn:set_var("txn.sluice_wait", wait and wait[0] or "1")
  else
    txn:set_var("txn.sluice_status", "away")
  end
end, 1)
