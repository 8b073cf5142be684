import { SettingError } from './env.ts'

/** Writes one event as a line of JSON. */
export type Log = (event: string, fields?: Readonly<Record<string, unknown>>) => void

/** A log on standard output. `LOG_LEVEL=silent` turns it off. */
export function logTo(service: string): Log {
  if (process.env.LOG_LEVEL === 'silent') return () => undefined
  return (event, fields) => console.log(JSON.stringify({ at: new Date().toISOString(), service, event, ...fields }))
}

/** What the library throws for a wrong value, such as a block in `TRUSTED_PROXIES` or the tier of a tenant. */
const wrongValues: readonly unknown[] = ['SLUICE_INVALID_OPTION', 'SLUICE_INVALID_POLICY']

/** Runs a program. What keeps it from starting is one line, and the exit code: 2 for a wrong variable, else 1. */
export async function runMain<T>(main: () => Promise<T>): Promise<T> {
  try {
    return await main()
  } catch (error) {
    console.error((error as Error).message.split('\n')[0])
    process.exit(error instanceof SettingError || wrongValues.includes((error as { code?: unknown }).code) ? 2 : 1)
  }
}
