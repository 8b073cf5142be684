/** The versions of models that there are. */
const versions: readonly unknown[] = ['v1', 'v2', 'gpt-vision']

/** The version that a request names, if there is one of that name. */
export function modelVersion(body: unknown): string | undefined {
  const { model_version: version = 'v1' } = (body ?? {}) as Record<string, unknown>
  return versions.includes(version) ? (version as string) : undefined
}

/** Limits are per version of the model and resolution, as those are what occupies GPUs. */
export function rateLimitKey(body: unknown): string {
  const { hd_mode: isHd = false } = (body ?? {}) as Record<string, unknown>
  // What names no model shares one bucket, so that a client cannot invent another.
  return `model:${modelVersion(body) ?? 'unknown'}:res:${isHd ? 'hd' : 'sd'}`
}
