import { describe, expect, it } from 'vitest'
import { formatAddress, parseAddress } from '../../core/address.ts'
import { identity } from './identity.ts'

const canonical = (text: string, prefix = 128) => {
  const address = parseAddress(text)
  return address && formatAddress(address, prefix)
}

describe('an address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:8080', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:443', '192.0.2.1'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['[2001:db8::1]:65535', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[fe80::1%25eth0]:80', 'fe80::1'],
    ['::', '::'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
  ])('%s is %s', (text, expected) => expect(canonical(text)).toBe(expected))

  it.each([
    ...[
      '',
      ' ',
      'unknown',
      '_hidden',
      '1.2.3',
      '1.2.3.4.5',
      '256.1.1.1',
      '01.2.3.4',
      '1.2.3.4:',
      '1.2.3.4:123456',
      '-1.2.3.4',
    ],
    ...[
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '1::2::3',
      ':1::2',
      '1::2:',
      '12345::',
      '::1.2.3',
      '1.2.3.4::',
      '[::1',
      '::1]',
      '[1.2.3.4]',
    ],
    ...[
      '1:2:3:4:5:6:7::8:9',
      'localhost',
      '0x7f.1',
      '2130706433',
      '1.2.3.4, 5.6.7.8',
      `${'1'.repeat(1e6)}.2.3.4`,
      '\u0661.2.3.4',
    ],
  ])('is not found in %j', (text) => expect(canonical(text)).toBeUndefined())

  it('is grouped by its IPv6 prefix', () => {
    expect(canonical('2001:db8:1:2:3:4:5:6', 64)).toBe('2001:db8:1:2::/64')
    expect(canonical('2001:db8:1:2ff:3:4:5:6', 56)).toBe('2001:db8:1:200::/56')
    expect(canonical('192.0.2.1', 64)).toBe('192.0.2.1')
  })
})

describe('without trusted proxies', () => {
  const identify = identity()

  it('the client is whoever is connected, whatever the headers say', () => {
    const headers = { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=203.0.113.8' }
    expect(identify('192.0.2.1', headers)).toBe('192.0.2.1')
  })
  it('a million addresses of one /64 are one client', () => {
    const keys = new Set<string | undefined>()
    for (let i = 0; i < 1e6; i++)
      keys.add(identify(`2001:db8::${(i >> 16).toString(16)}:${(i & 0xffff).toString(16)}`, {}))
    expect([...keys]).toEqual(['2001:db8::/64'])
  })
  it('a socket without an address has none', () => {
    expect(identify(undefined, {})).toBeUndefined()
    expect(identify('', {})).toBeUndefined()
  })
})

describe('behind trusted proxies', () => {
  const identify = identity({ trustedProxies: ['10.0.0.0/8', 'fd00::/8', '198.51.100.1'] })
  const via = (xff: string | readonly string[], peer = '10.0.0.1') => identify(peer, { 'x-forwarded-for': xff })

  it.each([
    ['the last entry', '203.0.113.7', '203.0.113.7'],
    ['the last entry that is no proxy', '1.1.1.1, 203.0.113.7, 10.2.3.4, 198.51.100.1', '203.0.113.7'],
    ['an entry with a port', '203.0.113.7:4711', '203.0.113.7'],
    ['a mapped entry', '::ffff:203.0.113.7', '203.0.113.7'],
    ['an IPv6 entry in brackets', '[2001:db8::1]:80', '2001:db8::/64'],
    ['past empty elements', ' , 203.0.113.7 , ,', '203.0.113.7'],
    ['the first entry, if all are proxies', '10.9.9.9, 10.2.3.4', '10.9.9.9'],
    ['the proxy itself, if it reports nonsense', '203.0.113.7, nonsense', '10.0.0.1'],
    ['the proxy that reports nonsense', '203.0.113.7, unknown, 10.2.3.4', '10.2.3.4'],
    ['the proxy itself, if it reports nothing', '', '10.0.0.1'],
  ])('takes %s', (_, xff, expected) => expect(via(xff)).toBe(expected))

  it('reads several lines as one list', () => {
    expect(via(['203.0.113.7', '203.0.113.8, 10.1.1.1'])).toBe('203.0.113.8')
  })
  it('believes nobody else', () => {
    expect(via('203.0.113.7', '192.0.2.1')).toBe('192.0.2.1')
    expect(via('203.0.113.7', '2001:db8::1')).toBe('2001:db8::/64')
  })
  it('knows its proxies also when they connect as mapped addresses', () => {
    expect(via('203.0.113.7', '::ffff:10.0.0.1')).toBe('203.0.113.7')
  })
  it('follows a chain of a thousand, and not for ever', () => {
    const proxies = Array.from({ length: 999 }, (_, i) => `10.0.${i >> 8}.${i & 255}`).join()
    expect(via(`203.0.113.7,${proxies}`)).toBe('203.0.113.7')
    expect(via(`203.0.113.7,10.1.1.1,${proxies}`)).toBe('10.1.1.1')
  })
  it('gives a client that sends nonsense in front no bucket of its own', () => {
    const keys = new Set(Array.from({ length: 1000 }, (_, i) => via(`junk-${i}, "${i}, 203.0.113.7`)))
    expect([...keys]).toEqual(['203.0.113.7'])
  })
})

describe('Forwarded', () => {
  const identify = identity({ trustedProxies: ['10.0.0.0/8'] })
  const via = (forwarded: string) => identify('10.0.0.1', { forwarded })

  it.each([
    ['for=203.0.113.7', '203.0.113.7'],
    ['For="203.0.113.7:4711"; proto=https;by=10.0.0.1', '203.0.113.7'],
    ['proto=http;for="[2001:db8:cafe::17]:4711"', '2001:db8:cafe::/64'],
    ['for=203.0.113.7, for=10.0.0.9', '203.0.113.7'],
    ['for=1.1.1.1, for=203.0.113.7;ext="a, for=9.9.9.9"', '203.0.113.7'],
    ['for="1.1.1.1, for=203.0.113.7', '203.0.113.7'],
    ['for=_hidden', '10.0.0.1'],
    ['for=unknown, for=10.0.0.9', '10.0.0.9'],
    ['by=203.0.113.7', '10.0.0.1'],
    ['xfor=203.0.113.7', '10.0.0.1'],
    ['for="203\\.0.113.7"', '203.0.113.7'],
    [';for=203.0.113.7; ;proto=http;', '203.0.113.7'],
    // A parameter that comes twice, and what stands in a quoted value, may be the client's.
    ['for=1.1.1.1;for=203.0.113.7', '10.0.0.1'],
    ['for=203.0.113.7;FOR=203.0.113.7', '10.0.0.1'],
    ['host="a;for=1.1.1.1;b";for=203.0.113.7', '203.0.113.7'],
    ['host="a;for=1.1.1.1;b"', '10.0.0.1'],
    ['for=203.0.113.7;nonsense', '10.0.0.1'],
  ])('%s means %s', (forwarded, expected) => expect(via(forwarded)).toBe(expected))

  it('and X-Forwarded-For are both believed only where they agree', () => {
    const both = (forwarded: string, xff: string) => identify('10.0.0.1', { forwarded, 'x-forwarded-for': xff })
    expect(both('for=203.0.113.7', '203.0.113.7')).toBe('203.0.113.7')
    expect(both('for=203.0.113.8', '203.0.113.7')).toBe('10.0.0.1')
  })
  it('or X-Forwarded-For alone is read when only that is written by the proxies', () => {
    const headers = { forwarded: 'for=203.0.113.8', 'x-forwarded-for': '203.0.113.7' }
    const only = (forwardedBy: 'forwarded' | 'x-forwarded-for') =>
      identity({ trustedProxies: ['10.0.0.0/8'], forwardedBy })('10.0.0.1', headers)
    expect(only('forwarded')).toBe('203.0.113.8')
    expect(only('x-forwarded-for')).toBe('203.0.113.7')
  })
})

describe('options', () => {
  it('trust peers on a Unix socket by name', () => {
    const identify = identity({ trustedProxies: ['unix'] })
    expect(identify(undefined, { 'x-forwarded-for': '203.0.113.7' })).toBe('203.0.113.7')
    expect(identify(undefined, {})).toBeUndefined()
    expect(identify('192.0.2.1', { 'x-forwarded-for': '203.0.113.7' })).toBe('192.0.2.1')
  })
  it('accept a mapped block', () => {
    const identify = identity({ trustedProxies: ['::ffff:10.0.0.0/104'] })
    expect(identify('10.9.9.9', { 'x-forwarded-for': '203.0.113.7' })).toBe('203.0.113.7')
  })
  it.each([
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    'fd00::/129',
    '0.0.0.0/0',
    '::/0',
    'loopback',
    '1',
    '10.0.0.0/8/8',
    '',
  ])('refuse %j as a proxy, by name', (block) =>
    expect(() => identity({ trustedProxies: [block] })).toThrow(/identity\.trustedProxies\[0\] is/),
  )
  it.each([true, 1, 'uniquelocal'])('refuse %j for the list of proxies', (value) => {
    expect(() => identity({ trustedProxies: value as never })).toThrow(/trustedProxies is .*CIDR/)
  })
  it.each([0, 129, 63.5, Number.NaN])('refuse a prefix of %d bits', (ipv6Prefix) => {
    expect(() => identity({ ipv6Prefix })).toThrow(/ipv6Prefix/)
  })
})
