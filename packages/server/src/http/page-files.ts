import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the build leaves the page. It is the same folder from src/ and from dist/. */
const folder = fileURLToPath(new URL('../../dist/page/', import.meta.url))

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const encodings = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
]

/** A file of the page as it is sent. */
export interface PageFile {
  readonly body: Buffer<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

/**
 * The files of the page by their path, in what a browser accepts: `pageFiles().find('/', 'gzip, br')`. Only names that
 * were there at the start are found, so no path can lead out of the folder.
 */
export function pageFiles(): { find(path: string, acceptEncoding: string): PageFile | undefined } {
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
  const known = new Set(names.map((name) => name.replaceAll('\\', '/')).filter((name) => types[extname(name)]))
  const kept = new Map<string, Buffer<ArrayBuffer>>()
  const read = (name: string): Buffer<ArrayBuffer> => {
    const body = kept.get(name) ?? readFileSync(folder + name)
    kept.set(name, body)
    return body
  }
  return {
    find(path, acceptEncoding) {
      const name = path === '/' ? 'index.html' : path.slice(1)
      if (!known.has(name)) return undefined
      const offers = acceptEncoding.split(',').map((each) => each.replaceAll(' ', '').split(';'))
      const accepted = offers.filter(([, quality]) => !/^q=0(\.0*)?$/.test(quality ?? '')).map(([each]) => each)
      const encoding = encodings.find((each) => accepted.includes(each.name))
      // Names of assets change with their contents.
      const cache = name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
      const headers = { 'content-type': types[extname(name)]!, 'cache-control': cache, vary: 'accept-encoding' }
      if (encoding === undefined) return { body: read(name), headers }
      return { body: read(name + encoding.suffix), headers: { ...headers, 'content-encoding': encoding.name } }
    },
  }
}
