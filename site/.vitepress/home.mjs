// The first page: what Sluice is, and where to begin. The index of all pages follows it.
import { leadOf, sitePath } from './pages.mjs'

const link = (page) => `/${sitePath(page)}`.replace(/\.md$/, '')
const feature = (title, details, page) => ({ title, details, link: link(page) })

export const home = {
  layout: 'home',
  hero: {
    name: 'Sluice',
    text: 'Flow control for TypeScript services',
    tagline: leadOf('README.md').replace(/^[^.]*\. /, ''),
    actions: [
      { theme: 'brand', text: 'Your first limit', link: link('start/first-limit.md') },
      { theme: 'alt', text: 'What Sluice is', link: link('start/what-it-is.md') },
    ],
  },
  features: [
    feature(
      'Rate limits',
      'Several limits in one step, exact over all replicas, for seven frameworks.',
      'start/express.md',
    ),
    feature(
      'Calls to vendors',
      'A limit in every rolling period, first in, first out, with a bounded wait.',
      'how-to/vendor-limit.md',
    ),
    feature('Cache', 'One fetch for all callers, and invalidation that holds.', 'how-to/cache.md'),
    feature(
      'Events',
      'On disk before they are acknowledged, sent as fast as the server can take them.',
      'how-to/ship-events.md',
    ),
    feature('Pipelines', 'Records at a held rate, over all workers, through crashes.', 'how-to/pipelines.md'),
    feature('Load and failures', 'Breakers, shedding, and a decision in time whatever Redis does.', 'failing-well.md'),
  ],
}
