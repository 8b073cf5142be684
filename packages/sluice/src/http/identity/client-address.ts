import { warnOnce } from '../../core/observe/warn-once.ts'
import type { RequestView } from '../../policy/request-view.ts'
import { type IdentityOptions, identity, trustsPeer } from './identity.ts'

/** The address of all clients that have none; they share a bucket rather than having no limit. */
export const unknownAddress = 'unknown'

/** Behind a proxy the very first requests come with forwarding headers; after a while they are no longer looked for. */
const looks = 100
const forwarding = ['forwarded', 'x-forwarded-for'] as const

/** Returns the address of a client, or `unknownAddress`. `headers` are read only where they matter. */
export type ClientAddress = (peer: string | undefined, view: Pick<RequestView, 'headers'>) => string

/**
 * Makes the function that returns the address of a client, and warns of what makes addresses useless as keys. The
 * address is never missing: a client that reset its connection, a Unix socket, a runtime that does not expose its peers
 * must not be without a limit.
 *
 * @example
 * const addressOf = clientAddress({ trustedProxies: ['10.0.0.0/8'] })
 * addressOf(socket.remoteAddress, view)
 */
export function clientAddress(options: IdentityOptions = {}): ClientAddress {
  const warnOfNone = warnOnce('SLUICE_NO_ADDRESS')
  const warnOfForwarding = warnOnce('SLUICE_FORWARDING_NOT_TRUSTED')
  const warnOfDisagreement = warnOnce('SLUICE_FORWARDING_DISAGREES')
  let left = looks
  const identify = identity(options, () => {
    left = 0
    warnOfDisagreement(
      "Forwarded and X-Forwarded-For of a trusted proxy name different clients, so such requests share the proxy's bucket; " +
        'name the header that your proxies write in identity.forwardedBy.',
    )
  })
  const trusts = (options.trustedProxies?.length ?? 0) > 0
  const isTrusted = trustsPeer(options)

  function lookForForwarding({ headers }: Pick<RequestView, 'headers'>, peer: string | undefined): void {
    left--
    if (!forwarding.some((name) => headers[name] !== undefined)) return
    left = 0
    warnOfForwarding(
      `A request came with a forwarding header from ${peer ?? 'a peer without an address'}, which is no trusted proxy, and a rule reads the ` +
        'address of clients. If that is your proxy, all its clients share one limit: name it in identity.trustedProxies.',
    )
  }

  return (peer, view) => {
    const address = identify(peer, trusts ? view.headers : noHeaders)
    if (left > 0 && !(trusts && isTrusted(peer))) lookForForwarding(view, peer)
    if (address !== undefined) return address
    warnOfNone(
      'A rule reads the address of clients, but a request has none: a Unix socket, or a connection that is gone. ' +
        `Such requests share the bucket "${unknownAddress}".`,
    )
    return unknownAddress
  }
}

const noHeaders: RequestView['headers'] = Object.freeze({})
