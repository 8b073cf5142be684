import { type Address, type Block, formatAddress, groupMask, parseAddress, parseBlock } from '../../core/address.ts'
import { checkOptionNames, optionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import type { RequestView } from '../../policy/request-view.ts'
import { forOf, fromTheRight } from './forwarded.ts'

/** How the address of a client is found. */
export interface IdentityOptions {
  /**
   * The proxies whose `Forwarded` and `X-Forwarded-For` are trusted, as CIDR blocks; `'unix'` means peers on a
   * Unix socket. None by default: the client is the connected peer.
   */
  readonly trustedProxies?: readonly string[]
  /** The header your proxies write. By default both are read, and where they disagree neither is used. */
  readonly forwardedBy?: 'forwarded' | 'x-forwarded-for' | 'either'
  /** IPv6 clients are distinguished by this many leading bits. 64 by default: what one subscriber usually has. */
  readonly ipv6Prefix?: number
}

/** Returns a client's address in its canonical spelling. */
export type Identify = (socketAddress: string | undefined, headers: RequestView['headers']) => string | undefined

const names = optionNames<IdentityOptions>({ trustedProxies: true, forwardedBy: true, ipv6Prefix: true })
const knownAddresses = 4096

/**
 * Makes the function that returns a client's address. `onDisagreement` is called when the headers of a trusted proxy
 * contradict each other.
 *
 * @example
 * const identify = identity({ trustedProxies: ['10.0.0.0/8'] })
 * identify('10.0.0.1', { 'x-forwarded-for': '203.0.113.7' }) // '203.0.113.7'
 */
export function identity(options: IdentityOptions = {}, onDisagreement?: () => void): Identify {
  checkOptionNames('identity', options, names)
  const { trustedProxies = [], forwardedBy = 'either', ipv6Prefix = 64 } = options
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 1 || ipv6Prefix > 128) {
    throw invalidOption('identity.ipv6Prefix', ipv6Prefix, 'use a whole number of bits from 1 to 128')
  }
  if (!Array.isArray(trustedProxies)) {
    throw invalidOption('identity.trustedProxies', trustedProxies, 'use a list of CIDR blocks such as ["10.0.0.0/8"]')
  }
  if (!['either', 'forwarded', 'x-forwarded-for'].includes(forwardedBy)) {
    throw invalidOption('identity.forwardedBy', forwardedBy, 'use "forwarded", "x-forwarded-for" or "either"')
  }
  const ofSocket = remembered((text) => {
    const address = parseAddress(text)
    return address && formatAddress(address, ipv6Prefix)
  })
  if (trustedProxies.length === 0) return (socketAddress) => ofSocket(socketAddress)

  const isTrusted = blocksOf(trustedProxies)
  const trustsUnix = trustedProxies.includes('unix')
  const walks = [
    ...(forwardedBy === 'x-forwarded-for' ? [] : [{ header: 'forwarded', nodeOf: forOf }]),
    ...(forwardedBy === 'forwarded' ? [] : [{ header: 'x-forwarded-for', nodeOf: (element: string) => element }]),
  ]

  return function identify(socketAddress, headers) {
    const peer = socketAddress ? parseAddress(socketAddress) : undefined
    if (peer ? !isTrusted(peer) : !trustsUnix || socketAddress) return ofSocket(socketAddress)
    let client: string | undefined
    for (const { header, nodeOf } of walks) {
      const value = headers[header]
      if (value === undefined) continue
      const found = clientOf(peer, typeof value === 'string' ? value : value.join(), nodeOf, isTrusted)
      const text = found && formatAddress(found, ipv6Prefix)
      if (client !== undefined && client !== text) {
        onDisagreement?.()
        return ofSocket(socketAddress)
      }
      client = text
    }
    return client ?? ofSocket(socketAddress)
  }
}

/** Whether a peer is one of the trusted proxies. */
export function trustsPeer({ trustedProxies = [] }: IdentityOptions): (socketAddress: string | undefined) => boolean {
  const isTrusted = blocksOf(trustedProxies)
  return (socketAddress) => {
    const peer = socketAddress ? parseAddress(socketAddress) : undefined
    return peer ? isTrusted(peer) : !socketAddress && trustedProxies.includes('unix')
  }
}

function blocksOf(trustedProxies: readonly string[]): (address: Address) => boolean {
  const blocks = trustedProxies.filter((block) => block !== 'unix')
  return parseBlocks(blocks, 'identity.trustedProxies')
}

/**
 * Follows the hops from the nearest: the first that is not a trusted proxy is the client. What cannot be read ends the
 * chain at the proxy that reported it, so nonsense shares that proxy's bucket and never gets one of its own.
 */
function clientOf(
  peer: Address | undefined,
  header: string,
  nodeOf: (element: string) => string,
  isTrusted: (address: Address) => boolean,
): Address | undefined {
  let client = peer
  for (const element of fromTheRight(header)) {
    const address = parseAddress(nodeOf(element))
    if (!address) return client
    client = address
    if (!isTrusted(address)) return client
  }
  return client
}

/** Connections are reused, so the same text comes many times; the memory of them is bounded. */
function remembered(compute: (text: string) => string | undefined): (text: string | undefined) => string | undefined {
  const known = new Map<string, string | undefined>()
  return (text) => {
    if (!text) return undefined
    const found = known.get(text)
    if (found !== undefined) return found
    const value = compute(text)
    if (known.size >= knownAddresses) known.clear()
    known.set(text, value)
    return value
  }
}

/** Whether an address is in one of the blocks. */
export type InBlocks = (address: Address) => boolean

/** Reads blocks such as `10.0.0.0/8`, `fd00::/8` or a single address; every mistake names the option. */
function parseBlocks(texts: readonly string[], option: string): InBlocks {
  const blocks = texts.map((text, i) => trustedBlock(text, `${option}[${i}]`))
  return (address) => blocks.some((block) => contains(block, address))
}

function trustedBlock(text: unknown, option: string): Block {
  const block = typeof text === 'string' ? parseBlock(text) : undefined
  if (!block)
    throw invalidOption(option, text, 'use a block in CIDR notation such as "10.0.0.0/8" or "fd00::/8", or one address')
  if (block.prefix > 0) return block
  throw invalidOption(
    option,
    text,
    'trusting every peer would let each client choose its own address; name the proxies',
  )
}

function contains({ address, prefix }: Block, other: Address): boolean {
  if (address.family === 4) {
    return other.family === 4 && (address.value ^ other.value) >>> (32 - prefix) === 0
  }
  if (other.family === 4) return false
  for (let i = 0; i * 16 < prefix; i++) {
    if (((address.groups[i]! ^ other.groups[i]!) & groupMask(i, prefix)) !== 0) return false
  }
  return true
}
