import { SluiceError } from 'sluice/internal'

/** The error for a wrong option of the daemon: names it, shows the value and what would be right. */
export function wrongOption(option: string, value: unknown, remedy: string): SluiceError {
  return new SluiceError('SLUICE_INVALID_OPTION', `${option} is ${JSON.stringify(value)}; ${remedy}`)
}
