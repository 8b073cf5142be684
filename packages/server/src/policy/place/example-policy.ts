/** What the daemon enforces when it is given no policy: something to try, and to copy from. */
export const examplePolicy = `# A policy says how much may flow. This one is built in; start your own with: sluice serve --policy sluice.yaml
service: example

# Amounts by tier, for rules that say \`tier\`.
tiers:
  free: { rpm: 100 }
  standard: { rpm: 1000 }
  enterprise: { rpm: 10000 }

rules:
  # curl -d '{"key":"user:1","rule":"per-user"}' http://127.0.0.1:8440/v1/check
  - name: per-user
    # All limits of a rule are tested before any is spent.
    limits: { rps: 5, rpm: 100 }

  # Requests under /api/, by the caller's API key, or else by address. Tried with GET /v1/auth or { "request": ... }.
  - name: per-client
    match: { path: /api/* }
    key: { first: [headers.x-api-key | hash, ip] }
    limits: { rps: 20, rpm: 600 }
    # While the store is away: open (allow), closed (deny) or local (this replica's share).
    onStoreFailure: local

  # The tier of each tenant, from RATE_LIMIT_TIER_<TENANT> or RATE_LIMIT_TIER.
  - name: per-tenant
    match: { path: /tenants/:tenant/* }
    key: params.tenant
    tier: { by: params.tenant, env: true, default: free }

  # Watches and never denies: see what a limit would do before it does it.
  - name: uploads
    match: { method: POST, path: /api/uploads }
    key: ip
    limits: { rph: 10 }
    mode: shadow
`
