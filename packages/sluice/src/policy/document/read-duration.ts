import { formatDuration, parseDuration } from '../../core/duration.ts'
import { SluiceError } from '../../core/errors.ts'
import type { Report } from './policy-error.ts'

/** Reads a length of time within bounds, in milliseconds; undefined where it is none, which was then reported. */
export function readDuration(
  value: unknown,
  path: string,
  report: Report,
  { least = 1, most = Infinity }: { readonly least?: number; readonly most?: number } = {},
): number | undefined {
  try {
    const ms = parseDuration(value as string, path)
    if (ms >= least && ms <= most) return ms
    const from = formatDuration(least)
    report(
      path,
      value,
      most === Infinity ? `use at least ${from}` : `use a time from ${from} to ${formatDuration(most)}`,
    )
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    report(path, value, error.message.replace(/^.*; /s, ''))
  }
  return undefined
}
