import { basename, resolve } from 'node:path'
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

export interface FirstLoad {
  /** Packages of others that are in it. */
  readonly packages: readonly string[]
  /** Minified and compressed. */
  readonly kib: number
}

/** What a bundler that splits code puts into the files that an app loads at its start. */
export async function firstLoad(file: string, external: readonly string[] = []): Promise<FirstLoad> {
  const { outputFiles, metafile } = await build({
    entryPoints: [file],
    external: [...external],
    platform: 'browser',
    format: 'esm',
    conditions: ['sluice-source'],
    outdir: 'split',
    ...{ splitting: true, bundle: true, minify: true, metafile: true, write: false, logLevel: 'silent' },
  })
  const { outputs } = metafile
  const loaded = new Set(Object.keys(outputs).filter((path) => resolve(outputs[path]!.entryPoint ?? '') === file))
  for (const path of loaded)
    for (const each of outputs[path]!.imports)
      if (each.kind === 'import-statement' && !each.external) loaded.add(each.path)
  const inputs = [...loaded].flatMap((path) => Object.entries(outputs[path]!.inputs))
  const packages = inputs.flatMap(([path, { bytesInOutput }]) => {
    const [, name] = /node_modules\/([^/]+)/.exec(path) ?? []
    return name !== undefined && bytesInOutput > 0 ? [name] : []
  })
  const files = outputFiles.filter(({ path }) => [...loaded].some((each) => path.endsWith(basename(each))))
  const kib = files.reduce((sum, { contents }) => sum + gzipSync(contents).length / 1024, 0)
  return { packages: [...new Set(packages)], kib }
}
