export type SourceKind = 'file' | 'redis' | 'postgres'

/** What a replica reports to the test. */
export type Report =
  | { readonly kind: 'version'; readonly version: string; readonly atMs: number }
  | {
      readonly kind: 'end'
      readonly decisions: number
      readonly denied: number
      readonly degraded: number
      readonly mixed: readonly string[]
    }

/** Both rules of version `v3` allow 60, so a decision that mixes two versions is recognisable. */
export function amountOf(version: string): number {
  return 20 * Number(version.slice(1))
}

export function policyOf(version: string): object {
  const limits = [{ amount: amountOf(version), per: '1s', algorithm: 'fixed-window' }]
  return {
    service: 'shop',
    version,
    rules: [
      { name: 'per-user', key: ['headers.x-user'], limits },
      { name: 'per-ip', key: ['ip'], limits },
    ],
  }
}
