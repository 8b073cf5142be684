import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { libraries } from '../clients.ts'
import type { Context, Row, Scenario } from '../scenario.ts'
import { inTurn } from './single.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('../child/down.ts', import.meta.url))
const allowedMb = 16

/** A port below 1024 that nothing listens on. */
const nobody = '1'

/**
 * How much a process grows while it decides without Redis. It is a separate process, so that nothing else is measured.
 */
export async function grownWhileDown(
  library: string,
  decisions: number,
  mode: string,
): Promise<{ degraded: number; grownMb: number }> {
  const args = ['--expose-gc', '--import', 'tsx', script, library, nobody, String(decisions), mode]
  const { stdout } = await run(process.execPath, args, { timeout: 300_000 })
  return JSON.parse(stdout)
}

async function trial(library: string, mode: string, context: Context): Promise<Row> {
  const decisions = 1_000_000 * context.scale
  const fault = `${library}: ${decisions} decisions, Redis down, ${mode}`
  context.progress(fault)
  const { degraded, grownMb } = await grownWhileDown(library, decisions, mode)
  const wrong = [...(grownMb >= allowedMb ? ['memory grew'] : []), ...(degraded < decisions ? ['not degraded'] : [])]
  const none = { worstOverMs: 0, overAdmitted: 0, underAdmitted: 0, phantom: 0, unsettled: 0 }
  return { fault, decisions, ...none, note: `resident memory grew by ${Math.max(0, grownMb).toFixed(1)} MB`, wrong }
}

export const memory: readonly Scenario[] = [
  {
    name: 'memory',
    run: (context) =>
      inTurn(libraries.map((library, l) => () => trial(library, l === 0 ? 'local' : 'closed', context))),
  },
]
