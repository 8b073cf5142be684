import { useEffect, useState } from 'preact/hooks'

/**
 * The current view. Views are in the part of the address after `#`, so that keys and names in them are never sent to a
 * server, where access logs would keep them.
 */
export interface Route {
  /** Decoded segments: `#/rules/per-user` is `['rules', 'per-user']`. */
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

/** The props of every page. */
export interface PageProps {
  readonly route: Route
}

/** Reads a hash; what cannot be decoded is kept unchanged. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = split(hash.replace(/^#\/?/, ''))
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

/** The address of a view: `linkTo(['rules', 'per-user'], { sort: 'denied' })`. Empty values are left out. */
export function linkTo(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const search = new URLSearchParams(given).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`
}

/** Opens a view. With `replace` it replaces the current one in the history, for example while a filter is typed. */
export function goTo(link: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) {
    history.replaceState(null, '', link)
    dispatchEvent(new HashChangeEvent('hashchange'))
  } else location.hash = link
}

/** The current view; renders again when it changes. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = (): void => setHash(location.hash)
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return parseRoute(hash)
}

/** Like useState, but kept in the address, so that a link restores it: `useQuery('sort', 'denied')`. */
export function useQuery(name: string, otherwise: string): [string, (value: string) => void] {
  const { path, query } = useRoute()
  const set = (value: string): void =>
    goTo(linkTo(path, { ...parseRoute(location.hash).query, [name]: value === otherwise ? undefined : value }), {
      replace: true,
    })
  return [query[name] ?? otherwise, set]
}

function split(text: string): [string, string] {
  const at = text.indexOf('?')
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
