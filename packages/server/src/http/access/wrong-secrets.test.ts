import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { HttpProblem } from '../problem.ts'
import { WrongSecrets, wrongPerMinute } from './wrong-secrets.ts'

const from = (remoteAddress: string | undefined, headers: Record<string, string> = {}): IncomingMessage =>
  ({ socket: { remoteAddress }, headers }) as never
const wrong = new HttpProblem(401, 'wrong')
const { network, all } = wrongPerMinute

function counted(options: ConstructorParameters<typeof WrongSecrets>[0] = {}) {
  const secrets = new WrongSecrets(options)
  return (address: string | undefined, headers?: Record<string, string>): number =>
    secrets.refusal(from(address, headers), wrong).status
}

describe('wrong secrets', () => {
  test('are refused after ten a minute for each network, and are wrong again a minute later', () => {
    let nowMs = 0
    const status = counted({ nowMs: () => nowMs })
    for (let i = 0; i < network; i++) expect(status('192.0.2.1')).toBe(401)
    expect(status('192.0.2.1')).toBe(429)
    expect(status('::ffff:192.0.2.1')).toBe(429)
    expect(status('192.0.2.2')).toBe(401)
    nowMs = 60_000
    expect(status('192.0.2.1')).toBe(401)
  })

  test('of one IPv6 subscriber count together, and cannot use up what all have', () => {
    const status = counted()
    const spread = Array.from({ length: 1000 }, (_, i) => status(`2001:db8::${i.toString(16)}`))
    expect(spread.filter((each) => each === 401)).toHaveLength(network)
    expect(status('2001:db8:0:1::1')).toBe(401)
  })

  test('from very many networks are bounded in total, in memory too, and are reported once for each network', () => {
    const reported: string[] = []
    const status = counted({ onTooMany: (each) => reported.push(each) })
    const answers = Array.from({ length: 100_000 }, (_, i) => status(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`))
    expect(answers.filter((each) => each === 401)).toHaveLength(all)
    for (let i = 0; i < 100; i++) status('10.0.0.0')
    expect(reported).toEqual(['10.0.0.0'])
  })

  test('count for the client behind a trusted proxy, and only a trusted proxy is believed', () => {
    const status = counted({ identity: { trustedProxies: ['127.0.0.1/32'] } })
    for (let i = 0; i < network; i++) expect(status('127.0.0.1', { 'x-forwarded-for': '192.0.2.1' })).toBe(401)
    expect(status('127.0.0.1', { 'x-forwarded-for': '192.0.2.1' })).toBe(429)
    expect(status('127.0.0.1', { 'x-forwarded-for': '192.0.2.2' })).toBe(401)
    for (let i = 0; i < network; i++) status('192.0.2.9', { 'x-forwarded-for': `192.0.2.${i}` })
    expect(status('192.0.2.9', { 'x-forwarded-for': '198.51.100.1' })).toBe(429)
  })

  test('of a peer without an address count together', () => {
    const status = counted()
    for (let i = 0; i < network; i++) status(undefined)
    expect(status(undefined)).toBe(429)
  })
})
