import type { PageProps } from '../../app/pages.ts'
import { EmptyState } from '../../components/states.tsx'

export default function Rules(_: PageProps) {
  return <EmptyState title="Rules" />
}
