import assert from 'node:assert/strict'
import { HttpConnection, rawRequest } from '../http-connection.ts'
import type { HttpAsk } from '../http-exchange.ts'
import { waitFor } from '../wait-for.ts'
import { type AddTest, type HttpClient, minute, type UsingApp } from './app.ts'

/** What rules read of a request. */
export function claimReading(using: UsingApp, it: AddTest): void {
  it('gives clients that reset their connection no way around a limit by address', () =>
    using([minute(2)], {}, async ({ port, limiter }) => {
      const decisions: (string | undefined)[] = []
      let allowed = 0
      limiter.on('decided', ({ decision }) => {
        decisions.push(decision.rule)
        if (decision.allowed) allowed++
      })
      for (let i = 0; i < 40; i++) {
        const connection = await HttpConnection.open(port)
        connection.send(rawRequest('/hello'))
        connection.reset()
      }
      // Some resets arrive before the request is read; a last request shows that all others have been decided on.
      const last = await HttpConnection.open(port)
      last.send(rawRequest('/hello'))
      await last.answers(1)
      last.close()
      assert.ok(allowed <= 4, `${allowed} of ${decisions.length} passed: two of the address and two of nobody may`)
      assert.deepEqual([...new Set(decisions)], ['api'])
    }))

  it('reads a repeated query field as one where its values agree, and ends the query at a fragment', () =>
    using([minute(1, { key: 'query.k' })], {}, async ({ ask }) => {
      assert.equal((await ask('/hello?k=v')).status, 200)
      for (const query of ['k=v', 'k=v&k=v', 'k=v#1', 'k=v#2', 'k=v&x=1#k=w', 'k=%76'])
        assert.equal((await ask(`/hello?${query}`)).status, 429, query)
    }))

  it('counts what names nobody in one bucket of its own, instead of skipping the rule', async () => {
    const refusesAfterFirst = async ({ ask }: HttpClient, asks: readonly (readonly [string, HttpAsk])[]) => {
      const statuses: number[] = []
      for (const [path, asked] of asks) statuses.push((await ask(path, asked)).status)
      assert.deepEqual(statuses, [200, ...asks.slice(1).map(() => 429)])
    }
    await using([minute(1, { key: 'query.k' })], {}, (client) =>
      refusesAfterFirst(client, [
        ['/hello?k=a&k=b', {}],
        ['/hello?k=b&k=a', {}],
        ['/hello?k=', {}],
        ['/hello?k', {}],
      ]),
    )
    await using([minute(1, { key: 'headers.x-key' })], {}, async (client) => {
      await refusesAfterFirst(client, [
        ['/hello', { headers: { 'x-key': '' } }],
        ['/hello', { headers: { 'x-key': '' } }],
      ])
      // A request that has no such header at all is not the rule's, by default.
      assert.equal((await client.ask('/hello')).status, 200)
    })
    await using([minute(1, { key: 'body.t', match: { method: 'POST' } })], {}, async (client) => {
      const values = [{ $gt: '' }, ['acme'], '', null, {}]
      await refusesAfterFirst(
        client,
        values.map((t) => ['/echo', { method: 'POST', json: { t } }]),
      )
      assert.equal((await client.ask('/echo', { method: 'POST', json: { t: 'acme' } })).status, 200)
      assert.equal((await client.ask('/echo', { method: 'POST', json: {} })).status, 200)
    })
  })

  it('refuses what names nobody where the rule says so', () =>
    using([minute(9, { key: 'query.k', onMissing: 'deny' })], {}, async ({ ask }) => {
      for (const query of ['', '?k=', '?k=a&k=b']) assert.equal((await ask(`/hello${query}`)).status, 400, query)
      assert.equal((await ask('/hello?k=a')).status, 200)
    }))

  it('counts every body that the handler could read, whatever its type and framing', () =>
    using([minute(1e9, { key: 'body.t', match: { method: 'POST' } })], {}, async ({ port }) => {
      const text = JSON.stringify({ t: 'victim' })
      const types = ['application/json', 'text/plain', 'text/json', 'application/jsonx', 'application/vnd.api+json', '']
      const bodies = [text, `${' '.repeat(1_200_000)}${text}`, `\ufeff${text}`, `{"t":"x","t":"victim"}`]
      for (const type of types)
        for (const body of bodies)
          for (const isChunked of [false, true]) {
            const answer = await post(port, body, type, isChunked)
            const hasRun = answer.includes('HTTP/1.1 200') && answer.includes('victim')
            if (hasRun)
              assert.match(answer, /^ratelimit-policy:/im, `${type || 'no type'}, ${body.length} bytes, ${isChunked}`)
          }
    }))

  it('counts requests whose body is refused before a rule could read it', async () => {
    const rules = [minute(1), minute(9, { name: 'by-body', key: 'body.t', match: { method: 'POST' } })]
    const bodies: readonly (readonly [string, readonly string[]])[] = [
      ['{"t":', []],
      [JSON.stringify({ t: 'x'.repeat(1_200_000) }), []],
      ['{}', ['Content-Encoding: unknown']],
    ]
    for (const [body, headers] of bodies)
      await using(rules, {}, async ({ ask, port }) => {
        const statusOf = async () =>
          /^HTTP\/1.1 (\d+)/.exec(await post(port, body, 'application/json', false, headers))?.[1]
        const [first, ...others] = [await statusOf(), await statusOf(), await statusOf()]
        assert.notEqual(first, '429')
        assert.deepEqual(others, ['429', '429'], `${body.slice(0, 10)} ${headers}`)
        assert.equal((await ask('/hello')).status, 429)
      })
  })

  it('counts bodies that cannot be parsed in one bucket of the rule that reads them', () =>
    using([minute(1, { key: 'body.t', match: { method: 'POST' } })], {}, async ({ port }) => {
      const statuses: string[] = []
      for (const body of ['{"t":"a"', '{"t":"b"', '{'])
        statuses.push((await post(port, body, 'application/json', false)).slice(9, 12))
      assert.notEqual(statuses[0], '429')
      assert.deepEqual(statuses.slice(1), ['429', '429'])
    }))

  it('counts bodies that no parser has touched in one bucket of the rule that reads them', async () => {
    for (const type of ['application/octet-stream', 'multipart/form-data; boundary=b', 'text/x-other'])
      await using([minute(1, { key: 'body.t', match: { method: 'POST' } })], {}, async ({ port }) => {
        const statusOf = async (isChunked: boolean) => (await post(port, 't=victim', type, isChunked)).slice(9, 12)
        assert.notEqual(await statusOf(false), '429', type)
        assert.deepEqual([await statusOf(false), await statusOf(true)], ['429', '429'], type)
      })
  })

  it('lets no body that the handler could read around a rule that matches a field of it, or has it as a key', async () => {
    const text = JSON.stringify({ t: 'victim' })
    const types = ['application/json', 'text/plain', 'application/x-www-form-urlencoded', '']
    const bodies = [text, JSON.stringify({ pad: 'x'.repeat(1_200_000), t: 'victim' }), 't=victim', '{"t":']
    for (const rule of [{ match: { body: { t: 'victim' } } }, { key: 'body.t' }])
      await using([minute(1e9, rule)], {}, async ({ port }) => {
        for (const type of types)
          for (const body of bodies) {
            const answer = await post(port, body, type, false)
            const hasRun = answer.includes('HTTP/1.1 200') && answer.includes('"t":"victim"')
            if (hasRun) assert.match(answer, /^ratelimit-policy:/im, `${type || 'no type'}, ${body.slice(0, 20)}`)
          }
        const other = await post(port, JSON.stringify({ other: 1 }), 'application/json', false)
        assert.doesNotMatch(other, /^ratelimit-policy:/im)
      })
  })

  it('counts bodies that cannot be read by rules that match a field, and by rules that match its absence', async () => {
    for (const t of ['victim', ['victim', 'other'], { exists: true }, { exists: false }])
      await using([minute(1, { match: { method: 'POST', body: { t } } })], {}, async ({ port }) => {
        const statusOf = async () => (await post(port, 't=victim', 'application/octet-stream', false)).slice(9, 12)
        assert.notEqual(await statusOf(), '429')
        assert.equal(await statusOf(), '429', JSON.stringify(t))
      })
  })

  it('reads every field of the query that the handler can read', async () => {
    const rules = [minute(1e9, { name: 'by-key', key: 'query.k' })]
    const matched = [minute(1e9, { name: 'matched', match: { query: { k: 'victim' } } })]
    const queries = ['k=victim', '#&k=victim', 'x#&k=victim', 'k=a#&k=victim', 'k=victim&#', '&&k=victim#', '?k=victim']
    for (const each of [rules, matched])
      await using(each, {}, async ({ ask }) => {
        for (const query of queries) {
          const { body, headers } = await ask(`/query?${query}`)
          const { k } = JSON.parse(body) as { k?: string | readonly string[] }
          if (k?.includes('victim')) assert.ok(headers['ratelimit-policy'], `${each[0]!.name}, ${query}`)
        }
      })
  })

  it('reads the context that the app gives', () =>
    using([minute(1, { key: 'context.user.id' })], { context }, async ({ ask }) => {
      assert.equal((await ask('/hello')).status, 200)
      assert.equal((await ask('/hello')).status, 429)
    }))

  it('never skips a rule because the context could not be told', async () => {
    const fails = (): never => {
      throw new Error('no user')
    }
    // A promise is what the types refuse and JavaScript does not.
    const asked = [fails, async () => fails(), async () => ({ user: { id: 7 } })] as unknown as (typeof context)[]
    for (const context of asked) {
      await using([minute(1, { key: 'context.user.id' })], { context }, async ({ ask }) => {
        assert.equal((await ask('/hello')).status, 200)
        assert.equal((await ask('/hello')).status, 429)
      })
      await using([minute(9, { key: 'context.user.id', onMissing: 'deny' })], { context }, async ({ ask }) => {
        assert.equal((await ask('/hello')).status, 400)
      })
    }
  })

  it('lets nobody through because the key of the app is an object, which a client may have sent', async () => {
    for (const key of [() => ({}), async () => ({}), () => ({ method: 'GET', path: '/none', headers: {} })])
      await using([minute(1)], { rule: 'api', key: key as unknown as () => string }, async ({ ask }) => {
        assert.equal((await ask('/hello')).status, 500)
      })
  })

  it('takes keys from functions that are numbers, or come later', async () => {
    let id = 1
    for (const key of [() => id, async () => id, async () => `${id}`, () => BigInt(id), () => id > 1]) {
      id = 1
      await using([minute(1)], { rule: 'api', key }, async ({ ask }) => {
        assert.equal((await ask('/hello')).status, 200)
        assert.equal((await ask('/hello')).status, 429)
        id = 2
        assert.equal((await ask('/hello')).status, 200)
      })
    }
    for (const key of [() => null, async () => undefined])
      await using([minute(1)], { rule: 'api', key }, async ({ ask }) => {
        for (let i = 0; i < 3; i++) assert.equal((await ask('/hello')).status, 200)
      })
  })
}

const context = () => ({ user: { id: 7 } })

/** Sends a body as it stands and returns the whole answer. */
async function post(
  port: number,
  body: string,
  type: string,
  isChunked: boolean,
  others: readonly string[] = [],
): Promise<string> {
  const bytes = Buffer.from(body)
  const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes.length}`
  const headers = ['Connection: close', framing, ...(type === '' ? [] : [`Content-Type: ${type}`]), ...others]
  const connection = await HttpConnection.open(port)
  connection.send(rawRequest('/echo', 'POST', headers))
  const content = bytes.toString('latin1')
  connection.send(isChunked ? `${bytes.length.toString(16)}\r\n${content}\r\n0\r\n\r\n` : content)
  await waitFor(() => connection.hasEnded, { describe: 'the answer' })
  connection.close()
  return connection.received
}
