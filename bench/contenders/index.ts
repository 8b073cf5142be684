import type { Open } from './contender.ts'

/** Loaded one per process, so that no library is compiled together with another. */
const files = {
  sluice: () => import('./sluice.ts'),
  'sluice in memory': () => import('./sluice-memory.ts'),
  'rate-limiter-flexible': () => import('./rate-limiter-flexible.ts'),
  'rate-limiter-flexible in memory': () => import('./rate-limiter-flexible-memory.ts'),
  'sluice on PostgreSQL': () => import('./sluice-postgres.ts'),
  'rate-limiter-flexible on PostgreSQL': () => import('./rate-limiter-flexible-postgres.ts'),
  'rate-limit-redis': () => import('./rate-limit-redis.ts'),
  '@upstash/ratelimit': () => import('./upstash-ratelimit.ts'),
  'bare windows': () => import('./bare-windows.ts'),
  'bare map': () => import('./bare-map.ts'),
  'raw EVALSHA': () => import('./raw-evalsha.ts'),
  'sluice breaker': () => import('../breaker/sluice.ts'),
  cockatiel: () => import('../breaker/cockatiel.ts'),
  opossum: () => import('../breaker/opossum.ts'),
  'no breaker': () => import('../breaker/bare.ts'),
  'sluice cache': () => import('../cache/sluice.ts'),
  bentocache: () => import('../cache/bentocache.ts'),
  cacheable: () => import('../cache/cacheable.ts'),
  'lru-cache': () => import('../cache/lru-cache.ts'),
  'raw GET': () => import('../cache/raw-get.ts'),
  'sluice egress': () => import('../egress/sluice.ts'),
  bottleneck: () => import('../egress/bottleneck.ts'),
  'p-queue': () => import('../egress/p-queue.ts'),
} satisfies Record<string, () => Promise<{ open: Open }>>

export type ContenderName = keyof typeof files

export async function loadContender(name: ContenderName): Promise<Open> {
  return (await files[name]()).open
}
