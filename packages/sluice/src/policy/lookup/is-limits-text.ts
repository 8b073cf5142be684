/** Whether a tier is limits as text, an object, a list or one of `"unlimited"` and `"deny"`. Names begin otherwise. */
export function isLimitsText(tier: string): boolean {
  return /^[{["]/.test(tier)
}
