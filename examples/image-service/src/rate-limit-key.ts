const isName = (value: unknown): boolean =>
  ['string', 'number'].includes(typeof value) && /^[\w.-]{1,100}$/.test(String(value))

/** Limits are per version of the model and resolution, as those are what occupies GPUs. */
export function rateLimitKey(body: unknown): string {
  const { model_version: version = 'v1', hd_mode: isHd = false } = (body ?? {}) as Record<string, unknown>
  // What names no model shares one bucket, so that a client cannot invent another.
  const model = isName(version) ? version : 'unknown'
  return `model:${model}:res:${isHd ? 'hd' : 'sd'}`
}
