import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { clientAddress, unknownAddress } from './client-address.ts'

const warned: string[] = []
beforeEach(() => {
  warned.length = 0
  vi.spyOn(process, 'emitWarning').mockImplementation((_, options) => {
    warned.push((options as { code: string }).code)
  })
})
afterEach(() => vi.restoreAllMocks())

const forwarded = { headers: { 'x-forwarded-for': '203.0.113.1' } }

test('clients without an address share one, with one warning', () => {
  const addressOf = clientAddress()
  for (const peer of [undefined, '', 'nonsense', undefined])
    expect(addressOf(peer, { headers: {} })).toBe(unknownAddress)
  expect(warned).toEqual(['SLUICE_NO_ADDRESS'])
})

test('forwarding headers that disagree on a Unix socket lead to the shared address, with one warning', () => {
  const addressOf = clientAddress({ trustedProxies: ['unix'] })
  expect(addressOf(undefined, forwarded)).toBe('203.0.113.1')
  const headers = { ...forwarded.headers, forwarded: 'for=192.0.2.1' }
  for (let i = 0; i < 3; i++) expect(addressOf(undefined, { headers })).toBe(unknownAddress)
  expect(warned).toEqual(['SLUICE_FORWARDING_DISAGREES', 'SLUICE_NO_ADDRESS'])
})

test('forwarding headers of peers that are not trusted are not believed, with one warning', () => {
  for (const options of [{}, { trustedProxies: ['10.0.0.0/8'] }]) {
    warned.length = 0
    const addressOf = clientAddress(options)
    for (let i = 0; i < 3; i++) expect(addressOf('198.51.100.1', forwarded)).toBe('198.51.100.1')
    expect(warned).toEqual(['SLUICE_FORWARDING_NOT_TRUSTED'])
  }
  warned.length = 0
  expect(clientAddress({ trustedProxies: ['10.0.0.0/8'] })('10.1.1.1', forwarded)).toBe('203.0.113.1')
  expect(warned).toEqual([])
})

test('a client on the machine of its trusted proxy is not warned of, nor one that connects there itself', () => {
  const addressOf = clientAddress({ trustedProxies: ['127.0.0.0/8', '::1/128', 'unix'] })
  for (const peer of ['127.0.0.1', '::1']) {
    expect(addressOf(peer, { headers: { 'x-forwarded-for': peer } })).toMatch(/^127\.0\.0\.1$|^::/)
    expect(addressOf(peer, { headers: { forwarded: 'for=unreadable' } })).toMatch(/^127\.0\.0\.1$|^::/)
    addressOf(peer, { headers: {} })
  }
  expect(addressOf(undefined, { headers: { 'x-forwarded-for': '127.0.0.1' } })).toBe('127.0.0.1')
  expect(clientAddress()('127.0.0.1', { headers: {} })).toBe('127.0.0.1')
  expect(warned).toEqual([])
})

test('headers are looked at only for the first requests, unless proxies are trusted', () => {
  const addressOf = clientAddress()
  let reads = 0
  const view = {
    get headers() {
      reads++
      return {}
    },
  }
  for (let i = 0; i < 1000; i++) addressOf('198.51.100.1', view)
  expect(reads).toBe(100)
})
