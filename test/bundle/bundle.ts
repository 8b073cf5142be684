import { gzipSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'

export interface Bundle {
  readonly code: string
  /** Modules that are still imported. */
  readonly imports: readonly string[]
  /** Packages of others that are in it. */
  readonly packages: readonly string[]
  /** Minified and compressed. */
  readonly kib: number
}

/** Leaves out what is imported only when it is needed. */
const withoutLater: Plugin = {
  name: 'without what is imported later',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^/ }, ({ kind, path }) => (kind === 'dynamic-import' ? { path, external: true } : undefined)),
}

export interface BundleOptions {
  readonly external?: readonly string[]
  /** Whether to include what is imported only when it is needed; true when left out. */
  readonly later?: boolean
}

/**
 * Bundles a file as for an edge runtime, except for what is `external`. It fails on an import of what only Node has.
 */
export async function bundle(file: string, { external = [], later = true }: BundleOptions = {}): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    entryPoints: [file],
    external: [...external],
    platform: 'browser',
    format: 'iife',
    globalName: 'app',
    conditions: ['sluice-source'],
    plugins: later ? [] : [withoutLater],
    ...{ bundle: true, minify: true, metafile: true, write: false, logLevel: 'silent' },
  })
  const [output] = Object.values(metafile.outputs)
  const code = outputFiles[0]!.text
  const imports = [...new Set(output!.imports.map(({ path }) => path))]
  const packages = Object.entries(output!.inputs).flatMap(([path, { bytesInOutput }]) => {
    const [, name] = /node_modules\/([^/]+)/.exec(path) ?? []
    return name !== undefined && bytesInOutput > 0 ? [name] : []
  })
  return { code, imports, packages: [...new Set(packages)], kib: gzipSync(code).length / 1024 }
}
