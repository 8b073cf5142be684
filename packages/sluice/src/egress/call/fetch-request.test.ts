import { afterEach, expect, test } from 'vitest'
import { createEgress } from '../create-egress.ts'
import type { Egress } from '../egress.ts'
import { startVendor, type Vendor } from '../testing/vendor.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})

/** A vendor that returns what it received. */
async function start(path = ''): Promise<{ vendor: Vendor; egress: Egress }> {
  const vendor = await startVendor((request, response) => {
    response.setHeader('content-type', request.headers['content-type'] ?? 'none')
    response.setHeader('x-target', request.url!)
    response.setHeader('x-own', request.headers['x-own'] ?? '')
    request.pipe(response)
  })
  const upstream = { name: 'vendor', origin: vendor.origin + path, limits: { rps: 1000 } }
  const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] } })
  opened.push(egress, vendor)
  return { vendor, egress }
}

test('a form of the platform is sent as a form', async () => {
  const { vendor, egress } = await start()
  const form = new FormData()
  form.set('name', 'value')
  form.set('file', new Blob(['content']), 'notes.txt')
  const headers = { 'x-own': 'kept' }
  const response = await egress.fetch(vendor.origin, { method: 'POST', body: form as never, headers })
  expect(response.headers.get('x-own')).toBe('kept')
  const returned = await new Response(await response.text(), {
    headers: { 'content-type': response.headers.get('content-type')! },
  }).formData()
  expect(returned.get('name')).toBe('value')
  expect(await (returned.get('file') as File).text()).toBe('content')
})

const outside = ['/../x', '/a/../../x', '/%2e%2e/x', '\\..\\x', '/.\t./x', 'x', '@elsewhere.example/x']

test.each([...outside, '/..;/x', '/..;a=b/x', '/%252e%252e/x', '/a%25252f..%25252fx'])(
  'a call by name cannot leave the path of its upstream: %j',
  async (path) => {
    const { vendor, egress } = await start('/v2')
    const call = { upstream: 'vendor', path, method: 'GET' }
    await expect(egress.request(call)).rejects.toMatchObject({ code: 'SLUICE_UNKNOWN_UPSTREAM' })
    const receiver = { responded: () => true, data: () => true, ended() {}, failed() {} }
    expect(() => egress.send(call, receiver)).toThrow(/is not below the address of upstream vendor/)
    expect(vendor.arrivals).toHaveLength(0)
  },
)

test('a URL that a server might read as one beside the path of an upstream is not below it', async () => {
  const { vendor, egress } = await start('/v2')
  for (const path of ['/v2/..;/x', '/v2/%252e%252e/x'])
    await expect(egress.fetch(vendor.origin + path)).rejects.toMatchObject({ code: 'SLUICE_UNKNOWN_UPSTREAM' })
  expect(vendor.arrivals).toHaveLength(0)
})

test.each([
  ['/x', '/v2/x'],
  ['/a/../x?y', '/v2/x?y'],
  ['/x/..hidden', '/v2/x/..hidden'],
  ['/a;v=1/50%25?q=..;/', '/v2/a;v=1/50%25?q=..;/'],
  ['?y', '/v2?y'],
  ['', '/v2'],
])('a call by name to %j goes to %j', async (path, target) => {
  const { egress } = await start('/v2')
  const { rawHeaders, body } = await egress.request({ upstream: 'vendor', path, method: 'GET' })
  body.resume()
  const names = rawHeaders.map(String)
  expect(names[names.indexOf('x-target') + 1]).toBe(target)
})
