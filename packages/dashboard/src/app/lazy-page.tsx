import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import { ErrorState, Loading } from '../components/states.tsx'
import type { PageProps } from '../hooks/router.ts'
import type { Page, PageEntry } from './pages.ts'

const loaded = new Map<string, Page>()

/** Shows a page, after fetching its code if it is the first time. */
export function LazyPage({ entry, route }: PageProps & { readonly entry: PageEntry }) {
  const [failure, setFailure] = useState<Error>()
  const [, setReady] = useState('')
  const View = entry.lazy ? loaded.get(entry.segment) : (entry.page as Page)
  useEffect(() => {
    if (View !== undefined) return
    setFailure(undefined)
    ;(entry.page as () => Promise<Page>)().then((page) => {
      loaded.set(entry.segment, page)
      setReady(entry.segment)
    }, setFailure)
  }, [entry, View])
  // An error on one page must not remove the navigation.
  const [broken, forget] = useErrorBoundary()
  if (broken) return <ErrorState error={asError(broken)} retry={forget} />
  if (View !== undefined) return <View route={route} />
  // After an upgrade of the daemon the old file names no longer exist; a reload of the page has the new ones.
  if (failure) return <ErrorState error={failure} retry={() => location.reload()} />
  return <Loading what={entry.title} />
}

function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value))
}
