import { readFileSync, writeFileSync } from 'node:fs'
import { importEnvoy } from '../../../envoy/import-envoy.ts'
import { wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { countOf } from '../../terminal/numbers.ts'

/** Prints or writes the policy that answers as Envoy's own configuration does. */
export async function policyImport(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [format, ...files] = input.args
  if (format !== 'envoy')
    throw wrongUse(`${JSON.stringify(format)} cannot be imported; use: sluice policy import envoy FILE`)
  const read = files.map((name) => ({ name, text: readFileSync(name === '-' ? 0 : name, 'utf8') }))
  const service = input.text('service')
  const { document, yaml, warnings } = importEnvoy(read, service === undefined ? {} : { service })
  const out = input.text('out')
  if (out !== undefined) {
    try {
      writeFileSync(out, yaml, { flag: 'wx' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      throw wrongUse(`${out} is there already; remove it first, or name another file`)
    }
  }
  terminal.result({ out: out ?? null, document, warnings }, () => {
    if (out === undefined) terminal.write(yaml)
    else
      terminal.line(
        `${terminal.style.good('written')} ${out}: service ${document.service}, ${countOf(document.rules.length, 'rule')}`,
      )
  })
  if (!terminal.json) for (const warning of warnings) terminal.note(`${terminal.style.warn('!')} ${warning}`)
  return 0
}
