import { isSluiceError } from '../core/errors.ts'
import { pipelineFailed } from './pipeline-error.ts'

export interface QueryResult {
  readonly rows: readonly Record<string, unknown>[]
  readonly rowCount: number | null
}

export interface Queries {
  query(text: string, values?: unknown[]): Promise<QueryResult>
}

/** A connection that also runs queries of another form, which say themselves when they are done. */
export interface Connection extends Queries {
  query(text: string, values?: unknown[]): Promise<QueryResult>
  query<T extends { submit(connection: never): void }>(query: T): T
}

/** As much of a client of `pg` as a pipeline needs. */
export interface PoolClient extends Connection {
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
  release(destroy?: boolean): void
}

/** As much of a `Pool` of `pg` as a pipeline needs. */
export interface PipelinePool extends Queries {
  connect(): Promise<PoolClient>
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '')

/** Whether the rows are at fault: a value that the column cannot have, or that a constraint refuses. */
export const isDataError = (error: unknown): boolean => /^2[23]...$/.test(codeOf(error))

/** What no trying again mends, such as a table that is not there: it ends the run. */
export function asFailure(error: unknown): unknown {
  const isForGood = /^(42|28|3D|3F|0A)...$/.test(codeOf(error).padEnd(5)) && !isSluiceError(error)
  return isForGood ? pipelineFailed(`PostgreSQL: ${(error as Error).message}`, error) : error
}

/** A text as SQL has it. */
export function quoteText(text: string | undefined): string {
  if (text === undefined) return 'NULL'
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return text.includes('\\') ? `E${quoted}` : quoted
}

/** Runs work that begins a transaction and commits it. A connection that failed in it is not used again. */
export async function inTransaction(pool: PipelinePool, work: (client: Connection) => Promise<unknown>): Promise<void> {
  const client = await pool.connect()
  let isGood = false
  // A connection that is lost between two queries says so in an event, which would end the process.
  const ignore = (): void => undefined
  client.on('error', ignore)
  try {
    await work(client)
    isGood = true
  } catch (error) {
    isGood = await client.query('ROLLBACK').then(
      () => true,
      () => false,
    )
    throw asFailure(error)
  } finally {
    client.off('error', ignore)
    client.release(!isGood)
  }
}
