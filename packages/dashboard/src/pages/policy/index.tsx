import type { PageProps } from '../../app/pages.ts'
import { EmptyState } from '../../components/states.tsx'

export default function Policy(_: PageProps) {
  return <EmptyState title="Policy" />
}
