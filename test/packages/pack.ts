// Scripts are plain JavaScript.
const file = '../../scripts/pack.mjs'

/** Packs a built package as it is published, and returns the path of the tarball. */
export const { pack } = (await import(file)) as {
  pack(name: 'sluice' | 'server', destination: string, repository?: string): string
}
