import { reject } from 'sluice/pipeline'
import { z } from 'zod'

/** A step that parses records. One that does not fit goes to the dead letters with its first mistake. */
export function parsing<T>(parse: (record: unknown) => T): (record: unknown) => T {
  return (record) => {
    try {
      return parse(record)
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error
      const [issue] = error.issues
      return reject(`${issue!.path.join('.')}: ${issue!.message}`)
    }
  }
}
