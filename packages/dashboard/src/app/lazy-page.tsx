import { useEffect, useState } from 'preact/hooks'
import { ErrorState, Loading } from '../components/states.tsx'
import type { Page, PageEntry, PageProps } from './pages.ts'

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
  if (View !== undefined) return <View route={route} />
  // After an upgrade of the daemon the old names of files are gone; a new load of the page has the new ones.
  if (failure) return <ErrorState error={failure} retry={() => location.reload()} />
  return <Loading what={entry.title} />
}
