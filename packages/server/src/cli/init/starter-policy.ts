/** A policy to begin with: what most services need, each rule with the reason for it. */
export function starterPolicy(service: string): string {
  return `# yaml-language-server: $schema=node_modules/sluice/policy.schema.json
# How much may flow into ${service}. Every rule that matches a request is decided together: all are spent, or none.
# Check it with: sluice policy validate
service: ${service}

# Rules with a tier take their limits from here.
tiers:
  free: { rpm: 60 }
  pro: { rpm: 600 }

rules:
  # Everybody, by address (an IPv6 network of 64 bits is one). Behind a proxy, tell the adapter which one to trust.
  - name: per-address
    key: ip | subnet
    limits: { rps: 20, rpm: 600 }
    # While the store is away: open (let pass), closed (deny) or local (this replica's share).
    onStoreFailure: local

  # Callers with an API key, which is kept as a hash. What a plan allows stands under tiers; the service says the
  # plan of a caller as context.plan.
  - name: per-client
    match: { path: /api/* }
    key: headers.x-api-key | hash
    # A request without a key is not limited by this rule; with \`deny\` it is refused.
    onMissing: skip
    tier: { by: context.plan, default: free }

  # Guessing passwords: five attempts in a quarter of an hour for an account from one address.
  - name: log-in
    match: { method: POST, path: /login }
    key: [ip | subnet, body.username | lower]
    limits: { amount: 5, per: 15m }
    onMissing: deny
    # Refuse rather than guess while the store is away.
    onStoreFailure: closed

  # Watches and never denies: see on the page what a limit would do, then remove \`mode\`.
  - name: uploads
    match: { method: POST, path: /api/uploads }
    key: headers.x-api-key | hash
    limits: { rph: 100 }
    mode: shadow

# More for one customer for a while, by the key that sluice top shows:
#   sluice policy override KEY --rule per-client --rpm 5000 --for 24h
`
}
