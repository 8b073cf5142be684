import assert from 'node:assert/strict'
import { SluiceError } from '../../core/errors.ts'
import type { GivenLimiter } from '../../http/guard/open-limiter.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { wrapStore } from '../../stores/wrap-store.ts'
import { exchange, type HttpAnswer } from '../http-exchange.ts'
import { waitFor } from '../wait-for.ts'
import { type AddTest, type HttpAppOptions, minute, type StartHttpApp } from './app.ts'

/** What an adapter takes for a limiter: a promise of one, or options to make one with. */
export function claimOpening(start: StartHttpApp, it: AddTest): void {
  const policy = { service: 'suite', rules: [minute(2)] }

  async function using(
    given: GivenLimiter,
    options: HttpAppOptions,
    test: (ask: (path: string) => Promise<HttpAnswer>) => Promise<void>,
  ): Promise<void> {
    const app = await start(given, options, {})
    try {
      await test((path) => exchange(app.port, path).answer)
    } finally {
      await app.close()
    }
  }

  it('lets requests wait for a limiter that is still being made', async () => {
    const { promise, resolve } = promised<Limiter>()
    const arrivals = counted()
    await using(promise, arrivals.options, async (ask) => {
      const waiting = [ask('/hello'), ask('/hello'), ask('/hello')]
      await waitFor(() => arrivals.count() === 3, { describe: 'three requests to wait' })
      const limiter = await createLimiter({ policy })
      resolve(limiter)
      const statuses = (await Promise.all(waiting)).map(({ status }) => status)
      assert.deepEqual(statuses.sort(), [200, 200, 429])
      assert.equal((await ask('/hello')).status, 429)
      await limiter.close()
    })
  })

  it('fails requests that waited for a limiter that cannot be made, and refuses later ones with its code', async () => {
    const { promise, reject } = promised<Limiter>()
    const arrivals = counted()
    const { lines, stop } = watchFaults()
    try {
      await using(promise, arrivals.options, async (ask) => {
        const waiting = ask('/hello')
        await waitFor(() => arrivals.count() === 1, { describe: 'a request to wait' })
        assert.equal((await ask('/healthz')).status, 200)
        reject(new SluiceError('SLUICE_SOURCE_FAILED', 'the policy is at 10.0.0.1,\nwhich is away'))
        assert.equal((await waiting).status, 500)
        const { status, headers, body } = await ask('/hello')
        assert.equal(status, 503)
        assert.match(String(headers['content-type']), /^application\/problem\+json\b/)
        assert.equal(JSON.parse(body).code, 'SLUICE_SOURCE_FAILED')
        assert.doesNotMatch(body, /10\.0\.0\.1/)
        assert.equal((await ask('/healthz')).status, 200)
      })
    } finally {
      stop()
    }
    assert.equal(lines.length, 1, lines.join('\n'))
    assert.match(lines[0]!, /^sluice: .* answers with 503: SluiceError: the policy is at 10\.0\.0\.1, which is away$/)
  })

  it('makes a limiter from options, and closes it', async () => {
    const store = memoryStore()
    let users = 0
    const use = () => {
      users++
      return async () => {
        users--
      }
    }
    await using({ policy, store: { ...wrapStore(store, {}), use } }, {}, async (ask) => {
      const statuses = [await ask('/hello'), await ask('/hello'), await ask('/hello')].map(({ status }) => status)
      assert.deepEqual(statuses, [200, 200, 429])
      assert.ok(users > 0)
    })
    assert.equal(users, 0)
    await store.close()
  })

  it('tells users of other rate limiters what to write', async () => {
    const startWith = async (given: unknown) => start(given as GivenLimiter, {}, {})
    const refused = (message: RegExp) => ({ code: 'SLUICE_INVALID_OPTION', message })
    for (const limit of ['limit', 'max']) {
      const written = /\{ limits: \{ amount: 100, per: '15m' \} \}/
      await assert.rejects(startWith({ windowMs: 900_000, [limit]: 100 }), refused(written))
    }
    await assert.rejects(startWith(undefined), refused(/pass a limiter, a promise of one, or options/))
    await assert.rejects(startWith({ limts: { rpm: 1 } }), refused(/did you mean "limits"/))
    await assert.rejects(startWith({ limits: { rpm: 1 }, cost: 2 }), refused(/pass it beside the limiter/))
  })
}

/** A promise that is settled from outside. */
function promised<T>(): { promise: Promise<T>; resolve(value: T): void; reject(error: Error): void } {
  let resolve!: (value: T) => void
  let reject!: (error: Error) => void
  const promise = new Promise<T>((...settle) => {
    ;[resolve, reject] = settle
  })
  return { promise, resolve, reject }
}

/** Options by which a request is seen when it arrives, before there is a limiter. */
function counted(): { readonly options: HttpAppOptions; count(): number } {
  let count = 0
  const when = (): boolean => {
    count++
    return false
  }
  return { options: { skip: { when } }, count: () => count }
}

/** Collects what Sluice writes to standard error. A rejection that nobody handles is a line too. */
function watchFaults(): { readonly lines: readonly string[]; stop(): void } {
  const lines: string[] = []
  const write = console.error
  console.error = (...text: unknown[]) => {
    if (String(text[0]).startsWith('sluice:')) lines.push(text.join(' '))
  }
  const unhandled = (error: unknown) => lines.push(`unhandled: ${error}`)
  process.on('unhandledRejection', unhandled)
  return {
    lines,
    stop: () => {
      console.error = write
      process.off('unhandledRejection', unhandled)
    },
  }
}
