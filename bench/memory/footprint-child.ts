// Counts the bytes that one contender keeps per key, and prints the figure. Needs --expose-gc.
import type { Setup } from '../contenders/contender.ts'
import { type ContenderName, loadContender } from '../contenders/index.ts'
import { subjectNames } from '../measure/subjects.ts'

const [name, setupText, keysText] = process.argv.slice(2)
const setup = JSON.parse(setupText!) as Setup
// The keys belong to the caller: they exist before, and stay.
const subjects = subjectNames(Number(keysText))

function bytesInUse(): number {
  for (let again = 0; again < 3; again++) globalThis.gc!()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const contender = await (await loadContender(name as ContenderName))(setup)
// Compiled code and other one-time allocations are not counted.
for (const subject of subjects.slice(0, 1000)) await contender.decide(`warm-up-${subject}`, 0)
const before = bytesInUse()
for (const subject of subjects) await contender.decide(subject, 0)
const after = bytesInUse()
// One more decision keeps the limiter, and all that it holds, from being collected before it is counted.
await contender.decide(subjects[0]!, 0)
process.stdout.write(`${JSON.stringify({ bytesPerKey: (after - before) / subjects.length })}\n`, () => process.exit())
