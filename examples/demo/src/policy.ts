/** What a tenant of the tier `standard` may send per minute, before and after the change. */
export const rpm = { usual: 600, tight: 300 } as const

/** A policy with something of everything: tiers, several limits, a shadow rule. `rpm` of a tenant is what changes. */
export function policyOf(standardRpm: number): string {
  return `# The policy of the demo. Change it here and watch the overview.
service: sentiment-service

# What tenants have bought.
tiers:
  free: { rps: 2, rpm: 60 }
  standard: { rps: 20, rpm: ${standardRpm} }
  enterprise: { rps: 60, rpm: 3000 }

rules:
  # Each tenant by its tier.
  - name: tenant
    match: { method: POST, path: /v1/analyze }
    key: headers.x-tenant
    tier: { by: headers.x-tenant, map: { acme-labs: standard, globex: standard, initech: enterprise, umbrella: enterprise }, default: free }
    onStoreFailure: local

  # Nobody may flood from one address.
  - name: address
    match: { path: /v1/* }
    key: ip
    limits: { rps: 30, rpm: 900 }
    onStoreFailure: open

  # Exports are heavy.
  - name: exports
    match: { path: /v1/export }
    key: headers.x-tenant
    limits: { rpm: 12 }
    onStoreFailure: closed

  # Watches and never denies: what would a cap per tenant do?
  - name: tenant-cap
    match: { method: POST, path: /v1/analyze }
    key: headers.x-tenant
    limits: { rpm: 240 }
    mode: shadow
`
}
