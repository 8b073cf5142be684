import type { PageProps } from '../../app/pages.ts'
import { EmptyState } from '../../components/states.tsx'

export function Overview(_: PageProps) {
  return <EmptyState title="Overview" />
}
