import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

export interface Bundle {
  readonly code: string
  /** Modules that are still imported. */
  readonly imports: readonly string[]
  /** Minified and compressed. */
  readonly kib: number
}

/**
 * Bundles a file as for an edge runtime, except for what is `external`. It fails on an import of what only Node has.
 */
export async function bundle(file: string, external: readonly string[] = []): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    entryPoints: [file],
    external: [...external],
    platform: 'browser',
    format: 'iife',
    globalName: 'app',
    conditions: ['sluice-source'],
    ...{ bundle: true, minify: true, metafile: true, write: false, logLevel: 'silent' },
  })
  const [output] = Object.values(metafile.outputs)
  const code = outputFiles[0]!.text
  const imports = [...new Set(output!.imports.map(({ path }) => path))]
  return { code, imports, kib: gzipSync(code).length / 1024 }
}
