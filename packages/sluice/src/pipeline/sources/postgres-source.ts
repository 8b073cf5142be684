import { checkOptionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import { quoteName, quoteTable } from '../../policy/sources/postgres/postgres-table.ts'
import type { Partitioning } from '../execution.ts'
import { partitionNames, refuseStrategy } from '../execution.ts'
import type { PipelineSource } from '../pipeline.ts'
import { pipelineFailed } from '../pipeline-error.ts'
import { asFailure, type PipelinePool } from '../postgres-client.ts'

export interface PostgresSourceOptions {
  readonly table: string
  /** The columns of a unique index without nulls, in its order: rows are read along it. */
  readonly key: readonly string[]
  /** Columns to read; all by default. */
  readonly columns?: readonly string[]
}

/**
 * Reads a table along a unique key. It is read page by page and not in one transaction: rows that are added meanwhile
 * before the place that was reached are not seen.
 *
 * @example postgresSource(pool, { table: 'customers', key: ['id'] })
 */
export function postgresSource(pool: PipelinePool, options: PostgresSourceOptions): PipelineSource {
  checkOptionNames('postgresSource', options, ['table', 'key', 'columns'])
  const { table, key, columns } = options
  const from = quoteTable(table)
  if (!Array.isArray(key) || key.length === 0)
    throw invalidOption('postgresSource.key', key, 'name the columns of a unique key')
  const keys = key.map((name) => quoteName(name, 'key'))
  const positionOf = `json_build_array(${keys.map((name) => `${name}::text`)})::text AS sluice_position`
  const selected = columns === undefined ? `${from}.*` : columns.map((name) => quoteName(name, 'column'))
  return {
    async partitions(execution) {
      const remedy = 'the pages of a table are known by their keys; use hash with the name of a column'
      refuseStrategy(execution, 'range', remedy)
      refuseStrategy(execution, 'round_robin', remedy)
      if (execution.mode === 'streaming')
        throw invalidOption('execution.mode', 'streaming', 'rows that are committed late would be left out; use batch')
      return partitionNames(execution)
    },
    async *read({ partition, from: position, execution: { partitioning, batchSize }, signal }) {
      const own = partitioning ? [hashCondition(partitioning, partition)] : []
      for (let after = position; ; ) {
        signal.throwIfAborted()
        const values = after === undefined ? [] : (JSON.parse(after) as string[])
        const beyond = after === undefined ? [] : [`(${keys}) > (${values.map((_, i) => `$${i + 1}`)})`]
        const where = [...own, ...beyond].map((each, i) => `${i === 0 ? 'WHERE' : 'AND'} ${each}`).join(' ')
        const text = `SELECT ${positionOf}, ${selected} FROM ${from} ${where} ORDER BY ${keys} LIMIT ${batchSize}`
        const { rows } = await pool.query(text, values).catch((error: unknown) => {
          throw asFailure(error)
        })
        if (rows.length === 0) return
        yield rows.map(({ sluice_position, ...value }) => ({ value, position: sluice_position as string }))
        after = rows.at(-1)!.sluice_position as string
        if ((JSON.parse(after) as unknown[]).includes(null))
          throw pipelineFailed(`a row of ${table} has no value in ${key}; a key must not be null`)
      }
    },
  }
}

function hashCondition({ key, partitions }: Partitioning, partition: string): string {
  return `(hashtext(${quoteName(key!, 'partitioning.key')}::text) & 2147483647) % ${partitions} = ${Number(partition)}`
}
