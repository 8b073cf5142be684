import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openLimiter } from './open-limiter.ts'

const adapter = pathToFileURL(join(import.meta.dirname, '..', 'fetch', 'index.ts')).href

/** Runs a program that has an adapter, until it ends by itself. */
function run(program: string): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const text = `import { rateLimit } from ${JSON.stringify(adapter)}\n${program}`
  const args = ['--import', 'tsx', '--conditions', 'sluice-source', '--input-type=module', '-e', text]
  return new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), stdout, stderr }),
    )
  })
}

describe('a limiter that an adapter makes from options', () => {
  it('keeps no process alive', async () => {
    const program = `const handle = rateLimit({ limits: { rpm: 1 } }, () => new Response('hello'), { remoteAddress: () => '192.0.2.1' })
      const statusOf = async () => (await handle(new Request('http://a.example/'))).status
      console.log(await statusOf(), await statusOf())`
    expect(await run(program)).toEqual({ code: 0, stdout: '200 429\n', stderr: '' })
  })

  it('writes one line when it cannot be made, and ends no process', async () => {
    const program = `const handle = rateLimit({ limits: { rmp: 1 } }, () => new Response('hello'))
      await handle(new Request('http://a.example/')).catch(({ code }) => console.log(code))
      console.log((await (await handle(new Request('http://a.example/'))).json()).code)`
    const { code, stdout, stderr } = await run(program)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'SLUICE_INVALID_POLICY\nSLUICE_INVALID_POLICY\n' })
    expect(stderr).toMatch(/^sluice: rateLimit\(\.\.\., handler\) has no limiter and answers with 503: .*rmp.*\n$/)
  })
})

describe('what is no limiter', () => {
  const call = 'rateLimit(...)'

  it.each([
    [{ windowMs: 900_000, max: 100 }, "write rateLimit({ limits: { amount: 100, per: '15m' } })"],
    [{ limit: 20 }, "write rateLimit({ limits: { amount: 20, per: '1m' } })"],
    [{ windowMs: 1000, limit: () => 3 }, 'an amount that depends on the request is a tier of a policy'],
    [{ windowMs: 1000, max: 0 }, "write rateLimit({ limits: { amount: 0, per: '1s' } })"],
    [{ keyGenerator: (): string => 'a' }, 'rateLimit.keyGenerator is a function; write { key: (request) => ... }'],
    [{ handler: () => {} }, 'write { onDenied: (denial) => ... } beside the limiter'],
    [{ message: 'Too many' }, 'write { onDenied: (denial) => ... } beside the limiter'],
    [{ standardHeaders: true }, "write { headers: 'draft-11' } beside the limiter"],
    [{ skipSuccessfulRequests: true }, 'write { skipSuccessful: true } beside the limiter'],
    [{ max: 100, timeWindow: '1 minute' }, "write rateLimit({ limits: { amount: 100, per: '1m' } })"],
    [{ max: 100, timeWindow: '15 minutes' }, "write rateLimit({ limits: { amount: 100, per: '15m' } })"],
    [{ ttl: 60_000, limit: 10 }, "write rateLimit({ limits: { amount: 10, per: '1m' } })"],
    [{ max: 'ten' }, "write rateLimit({ limits: { amount: ..., per: '1m' } })"],
    [{ limits: { rpm: 1 }, store: { increment: () => {} } }, 'rateLimit.store is an object; write { redis: openRedis('],
    [{ limits: { rpm: 1 }, skip: () => true }, 'rateLimit.skip is a function; write { skip: { when: '],
    [{ limits: { rpm: 1 }, skip: { paths: [] } }, 'rateLimit.skip is an object; it belongs to the adapter'],
    [{ standardHeaders: 'draft-7' }, "write { headers: 'draft-7' } beside the limiter"],
    [
      { windowMs: 60_000, max: 5, keyGenerator: (): string => 'a', handler: () => {} },
      "rateLimit.windowMs is 60000; write rateLimit({ limits: { amount: 5, per: '1m' } })\n" +
        'rateLimit.keyGenerator is a function; write { key: (request) => ... } beside the limiter\n' +
        'rateLimit.handler is a function; write { onDenied: ',
    ],
    [{ limits: { rpm: 1 }, headers: false }, 'rateLimit.headers is false; it belongs to the adapter'],
    [undefined, 'the limiter of rateLimit(...) is undefined; pass a limiter, a promise of one, or options'],
    ['100', 'the limiter of rateLimit(...) is "100"; pass a limiter'],
  ])('%j is refused with what to write', (given, message) => {
    expect(() => openLimiter(given as never, call)).toThrow(message)
  })

  it('a promise of options is refused as such', async () => {
    const { limiter } = openLimiter(Promise.resolve({ limits: { rpm: 1 } }) as never, call)
    await expect(limiter).rejects.toThrow('await options before you pass them')
  })
})
