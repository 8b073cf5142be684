import { parse } from 'smol-toml'

export interface Issuer {
  readonly name: string | null
  readonly url: string | null
  readonly currencies: readonly string[]
}

/** Reads what a home domain says about itself (SEP-1). Only domains of known assets are asked. */
export async function fetchToml(domain: string, origin = `https://${domain}`): Promise<Issuer> {
  const response = await fetch(`${origin}/.well-known/stellar.toml`, { signal: AbortSignal.timeout(5000) })
  if (!response.ok) throw new Error(`${domain} answered ${response.status}`)
  const text = await response.text()
  if (text.length > 100_000) throw new Error(`${domain} has a stellar.toml of more than 100 kB`)
  const { DOCUMENTATION: about, CURRENCIES: currencies } = parse(text) as Record<string, unknown>
  const { ORG_NAME: name = null, ORG_URL: url = null } = (about ?? {}) as Record<string, string>
  const codes = Array.isArray(currencies) ? currencies.map(({ code }: { code?: unknown }) => String(code)) : []
  return { name, url, currencies: codes }
}
