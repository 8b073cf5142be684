import type { ShipperOptions } from 'sluice/shipper'
import { CliError, wrongUse } from '../cli-error.ts'
import type { Input } from '../command.ts'

/** Where a command sends events, and how. */
export function serverOf(input: Input, command: string): Omit<ShipperOptions, 'dir'> {
  const endpoint = input.text('endpoint')
  if (endpoint === undefined)
    throw wrongUse(`sluice shipper ${command} needs --endpoint URL, or SLUICE_SHIPPER_ENDPOINT`)
  const capacityEndpoint = input.text('capacity-endpoint')
  const timeout = input.duration('timeout', 1)
  return {
    endpoint,
    headers: headersOf(input.many('header')),
    ...(capacityEndpoint === undefined ? {} : { capacityEndpoint }),
    ...(timeout === undefined ? {} : { timeout }),
  }
}

function headersOf(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((text) => {
      const [, name, value] = /^([^:\s]+)\s*:\s*(.*)$/.exec(text) ?? []
      if (name === undefined || value === undefined) {
        throw new CliError(2, 'wrong-use', `--header is ${JSON.stringify(text)}; write NAME: VALUE`)
      }
      return [name.toLowerCase(), value]
    }),
  )
}
