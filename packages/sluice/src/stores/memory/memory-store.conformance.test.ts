import { afterAll, beforeAll, describe, it } from 'vitest'
import { storeConformance } from '../../testing/store-conformance.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { memoryStore } from './memory-store.ts'

const framework = { afterAll, beforeAll, describe, it }

storeConformance(framework, {
  name: 'memoryStore on a virtual clock',
  abilities: ['inProcess', 'continuity'],
  async start() {
    const clock = virtualClock()
    return { store: memoryStore({ clock }), advance: (ms) => clock.tick(ms), stop: async () => {} }
  },
})

storeConformance(framework, {
  name: 'memoryStore',
  abilities: ['inProcess', 'continuity'],
  start: async () => ({ store: memoryStore(), stop: async () => {} }),
})
