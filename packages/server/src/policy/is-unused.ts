/** Whether nothing is stored for a key, or nothing that still matters. False when the store could not be asked. */
export function isUnused(inspection: {
  readonly limits: readonly { readonly resetMs: number }[]
  readonly holds: readonly unknown[]
}): boolean {
  const { limits, holds } = inspection
  return limits.length > 0 && holds.length === 0 && limits.every(({ resetMs }) => resetMs === 0)
}
