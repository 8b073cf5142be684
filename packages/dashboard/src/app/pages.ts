import type { ComponentType } from 'preact'
import type { PageProps } from '../hooks/router.ts'
import { Overview } from '../pages/overview/overview.tsx'

export type Page = ComponentType<PageProps>

export interface PageEntry {
  /** The first segment of the address; empty for the overview. */
  readonly segment: string
  readonly title: string
  /** A page that is loaded from the start, or when it is first opened. */
  readonly page: Page | (() => Promise<Page>)
  readonly lazy: boolean
  /** Left out for people who may only look. */
  readonly forAdmins?: boolean
}

const lazily = (segment: string, title: string, load: () => Promise<{ readonly default: Page }>): PageEntry => ({
  segment,
  title,
  page: async () => (await load()).default,
  lazy: true,
})

/** The pages in the order of the header. */
export const pages: readonly PageEntry[] = [
  { segment: '', title: 'Overview', page: Overview, lazy: false },
  lazily('rules', 'Rules', () => import('../pages/rules/index.tsx')),
  lazily('keys', 'Keys', () => import('../pages/keys/index.tsx')),
  lazily('policy', 'Policy', () => import('../pages/policy/index.tsx')),
  lazily('parts', 'Parts', () => import('../pages/parts/index.tsx')),
  { ...lazily('audit', 'Audit', () => import('../pages/audit/index.tsx')), forAdmins: true },
]

/** What another service reports: of that, its own daemons have the rest. */
export const otherService: PageEntry = lazily('services', 'Service', () => import('../pages/service/index.tsx'))
