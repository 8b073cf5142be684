/** An example for each object of a policy, by where it stands. Each is compiled when the page is made. */
export const policyExamples: Readonly<Record<string, string>> = {
  '': `
service: shop
tiers: { pro: { rpm: 5000 } }
lists: { offices: [192.0.2.0/24] }
rules:
  - { name: per-client, key: ip, limits: { rpm: 100 } }
upstreams:
  - { name: vendor, origin: 'https://api.vendor.example', limits: { rps: 25 } }
`,
  limit: `
service: shop
rules:
  - name: per-client
    key: ip
    limits:
      - { rps: 20 }
      - { amount: 10000, per: day, zone: Europe/Berlin }
`,
  'limit.pace': `
service: ads
rules:
  - name: campaign
    limits: { amount: 100000, per: day, pace: { burst: 300, catchUp: 2 } }
`,
  'tiers.*': `
service: shop
tiers:
  free: { rpm: 10 }
  pro: { extends: free, rpm: 1000, rpd: 100000 }
rules:
  - { name: per-key, key: headers.x-api-key, tier: context.plan, limits: { rpm: 5 } }
`,
  'lists.*[]': `
service: shop
lists:
  partners:
    - acme-*
    - { value: trial-7, until: 2027-01-31 }
rules:
  - name: others
    match: { headers: { x-tenant: { not: { in: partners } } } }
    key: headers.x-tenant
    limits: { rpm: 60 }
`,
  'rules[]': `
service: shop
rules:
  - name: searches
    match: { method: GET, path: /search }
    key: { first: [headers.x-api-key, ip] }
    limits: { rps: 5, rpm: 100 }
    onStoreFailure: local
    mode: shadow
`,
  'rules[].match': `
service: shop
rules:
  - name: uploads
    match: { method: [POST, PUT], path: /files/*, headers: { x-plan: free } }
    key: ip
    limits: { rpm: 10 }
`,
  condition: `
service: shop
rules:
  - name: large-models
    match: { body: { model: { prefix: gpt- }, max_tokens: { above: 1000 } } }
    key: headers.x-api-key
    limits: { rpm: 20 }
`,
  'rules[].match.time': `
service: shop
rules:
  - name: business-hours
    match: { time: { hours: '09:00-17:00', days: mon-fri, zone: Europe/Berlin } }
    key: ip
    limits: { rpm: 60 }
`,
  'rules[].key': `
service: shop
rules:
  - name: per-user
    key: { first: [context.user.id, ip] }
    limits: { rpm: 60 }
`,
  'rules[].tier': `
service: shop
tiers: { free: { rpm: 10 }, pro: { rpm: 1000 } }
rules:
  - name: per-key
    key: headers.x-api-key
    tier: { map: { key-of-acme: pro }, default: free }
`,
  'rules[].overrides[]': `
service: shop
rules:
  - name: per-tenant
    key: context.tenant
    limits: { rpm: 600 }
    overrides:
      - { key: acme-*, limits: { rpm: 5000 }, until: 2027-01-31 }
`,
  'rules[].cost': `
service: shop
rules:
  - name: calls
    key: headers.x-api-key
    limits: { rpm: 1000 }
    cost: { by: body.model, map: { large: 10 }, default: 1 }
`,
  'rules[].answer': `
service: shop
rules:
  - name: exports
    match: { path: /export }
    key: ip
    limits: { rph: 5 }
    answer: { status: 503, title: Too many exports, detail: Try again in an hour. }
`,
  'rules[].block': `
service: shop
rules:
  - name: log-ins
    match: { method: POST, path: /log-in }
    key: ip
    limits: { rpm: 10 }
    block: { after: 5, within: 10m, for: 15m, grow: 2 }
`,
  'rules[].delay': `
service: shop
rules:
  - name: searches
    key: ip
    limits: { rpm: 60 }
    delay: { after: 30, each: 100ms }
`,
  capacity: `
service: collector
rules:
  - { name: all, key: ip, limits: { rpm: 6000 } }
capacity:
  table:
    - { below: 50, maxBatchSize: 100, delay: 100ms }
    - { below: 90, maxBatchSize: 20, delay: 2s }
`,
  'upstreams[]': `
service: ingest
upstreams:
  - name: vendor
    origin: https://api.vendor.example/v2
    limits: { rps: 25 }
    concurrency: 10
    maxWait: 60s
    retry: { attempts: 3 }
    breaker: { failures: 20, cooldown: 5s }
`,
  'upstreams[].limits': `
service: gateway
upstreams:
  - name: model
    origin: https://api.openai.com
    vendor: openai
    limits:
      - { rpm: 500 }
      - { amount: 200000, per: 1m, unit: tokens }
`,
}
