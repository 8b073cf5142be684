import { clocks } from './faults/clocks.ts'
import { cluster } from './faults/cluster.ts'
import { damaged } from './faults/damaged.ts'
import { earlyClose } from './faults/early-close.ts'
import { local } from './faults/local.ts'
import { lostReplies } from './faults/lost-replies.ts'
import { memory } from './faults/memory.ts'
import { phantoms } from './faults/phantoms.ts'
import { planned } from './faults/planned.ts'
import { sentinel } from './faults/sentinel.ts'
import { single } from './faults/single.ts'
import type { Scenario } from './scenario.ts'

/** Everything that `npm run test:chaos` does, in order. */
export const scenarios: readonly Scenario[] = [
  ...phantoms,
  ...single,
  ...lostReplies,
  ...local,
  ...cluster,
  ...sentinel,
  ...planned,
  ...damaged,
  ...clocks,
  ...earlyClose,
  ...memory,
]
