import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { entryPoints, home } from '../public-api/entry-points.ts'
import { bundle } from './bundle.ts'
import type { start, startFromOptions } from './edge-app.ts'

const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'peerDependencies',
  Record<string, string>
>
const others = ['node:*', ...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)]

/** The globals of every fetch-style runtime, and nothing that only Node has. */
const webGlobals = [
  ...['AbortController', 'AbortSignal', 'Headers', 'Request', 'Response', 'URL', 'URLSearchParams'],
  ...['ReadableStream', 'TransformStream', 'TextDecoder', 'TextEncoder', 'console', 'crypto', 'performance'],
  ...['queueMicrotask', 'structuredClone', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'],
] as const

async function expectTwoOfEach(handle: (request: Request) => Promise<Response>): Promise<void> {
  const ask = (ip: string) => handle(new Request('https://a.example/', { headers: { 'cf-connecting-ip': ip } }))
  const answers = [await ask('192.0.2.1'), await ask('192.0.2.1'), await ask('192.0.2.1'), await ask('192.0.2.2')]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 200])
  expect(await answers[1]!.json()).toEqual({ left: 0 })
  expect(answers[2]!.headers.get('content-type')).toBe('application/problem+json')
}

describe('the memory limiter and the fetch adapter in one bundle', async () => {
  const app = await bundle(join(import.meta.dirname, 'edge-app.ts'))

  it('import nothing of Node', () => expect(app.imports).toEqual([]))

  it('limit requests where there are only the globals of the web', async () => {
    const context = createContext(Object.fromEntries(webGlobals.map((name) => [name, globalThis[name]])))
    expect(runInContext('typeof process + typeof Buffer + typeof setImmediate + typeof require', context)).toBe(
      'undefined'.repeat(4),
    )
    // Not in workers with an older compatibility date.
    runInContext('delete globalThis.FinalizationRegistry; delete globalThis.WeakRef', context)
    runInContext(app.code, context)
    await expectTwoOfEach(await (runInContext('app.start()', context) as ReturnType<typeof start>))
  })

  it('can be set up in the global scope, where workers have neither timers nor random numbers', async () => {
    const refused = () => {
      throw new Error('Disallowed operation called within global scope.')
    }
    const noCrypto = { randomUUID: refused, getRandomValues: refused, subtle: crypto.subtle }
    // Time stands still there.
    const noTime = { setTimeout: refused, setInterval: refused, performance: { now: () => 0, timeOrigin: 0 } }
    const given = Object.fromEntries(webGlobals.map((name) => [name, globalThis[name]]))
    const context = createContext({ ...given, ...noTime, crypto: noCrypto })
    runInContext(app.code, context)
    const handle = runInContext('app.startFromOptions()', context) as ReturnType<typeof startFromOptions>
    // The global scope has ended when the module is evaluated and its microtasks have run.
    await new Promise((resolve) => setImmediate(resolve))
    Object.assign(context, { setTimeout, setInterval, performance, crypto })
    await expectTwoOfEach(handle)
  })

  it('stay below their size limit, zod and yaml included', () => expect(app.kib).toBeLessThan(154))

  it('load neither zod nor yaml with limits in code, where a bundler splits code', async () => {
    const { packages, kib } = await bundle(join(import.meta.dirname, 'edge-app.ts'), { later: false })
    expect(packages).toEqual([])
    expect(kib).toBeLessThan(38.5)
  })
})

/**
 * By entry point: the limit in KiB of what is loaded with it, minified and compressed, without packages of others.
 * Raise a limit only for something that is useful to its users.
 */
const limitsKib: Readonly<Record<string, number>> = {
  '.': 31,
  './redis': 43,
  './policy': 42.3,
  './egress': 51,
  './store': 11,
  './mongodb': 7,
  './postgres': 18,
  './express': 16,
  './http': 17,
  './fetch': 17,
  './fastify': 17,
  './hono': 17,
  './koa': 16,
  './nest': 17.1,
  './node': 16,
  './breaker': 9.1,
  './cache': 32,
  './capacity': 15,
  './shipper': 29,
  './presence': 11,
  './pipeline': 27,
  './prometheus': 2,
  './opentelemetry': 4,
  './reports': 10,
  './testing': 93,
  './internal': 7,
}

describe.each(entryPoints)('sluice $subpath', ({ subpath, file }) => {
  it(`has at most ${limitsKib[subpath]} KiB`, async () => {
    const { kib } = await bundle(file, { external: others, later: false })
    expect(kib).toBeLessThanOrEqual(limitsKib[subpath] ?? 0)
  })
})

describe('entry points for runtimes other than Node', () => {
  it.each(['.', './fetch', './http', './policy', './store', './breaker'])(
    'sluice %s imports nothing of Node',
    async (subpath) => {
      const { file } = entryPoints.find((entry) => entry.subpath === subpath)!
      const { imports } = await bundle(file, { external: others })
      expect(imports.filter((path) => path.startsWith('node:'))).toEqual([])
    },
  )
})
