import { missingPeer } from '../../core/missing-peer.ts'

/** The part of undici that calls go through. */
export type Undici = typeof import('undici')

/**
 * Loads the application's undici. The copy inside Node is never used: it is older than Node's release, and in some
 * releases lets a response that arrives on an idle connection answer the next request (CVE-2026-6733).
 */
export async function loadUndici(): Promise<Undici> {
  try {
    return await import('undici')
  } catch (cause) {
    throw missingPeer('sluice/egress', 'undici', '7', cause)
  }
}
