import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Pool } from 'pg'
import type { Limiter } from 'sluice'
import {
  createPipeline,
  fileSink,
  fileSource,
  type Pipeline,
  PipelineError,
  type PipelineOptions,
  type PipelineSink,
  type PipelineSource,
  type Positions,
  postgresPositions,
  postgresSink,
  postgresSource,
  redisPositions,
  redisStreamSink,
  redisStreamSource,
} from 'sluice/pipeline'
import type { RedisHandle } from 'sluice/redis'
import { wrongOption } from '../connections/option-error.ts'
import type { Opened } from '../opened.ts'
import { namesIn, stepOf, useModule } from './document-steps.ts'
import { openKafka, openKinesis } from './open-streams.ts'
import { type Kind, type PipelineDocument, readPipeline } from './pipeline-document.ts'

type Row = Record<string, unknown>

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly redis: RedisHandle | undefined
  readonly limiter: Limiter | undefined
  readonly opened: Opened
  readonly dryRun: boolean
}

/** Reads and checks documents; throws with every mistake in the first one that has any, and which one it is. */
export function readDocuments(paths: readonly string[]): readonly PipelineDocument[] {
  const read = new Map<string, string>()
  return paths.map((path) => {
    const document = readDocument(path, paths.length > 1)
    const { name } = document
    // They would share positions: what one has done, the other would leave out.
    const remedy = `${read.get(name)} has it too; give each pipeline of a worker a name of its own`
    if (read.has(name)) throw new PipelineError([{ path: `${path}: name`, value: name, message: remedy }])
    read.set(name, path)
    return document
  })
}

function readDocument(path: string, isNamed: boolean): PipelineDocument {
  try {
    return readPipeline(readFileSync(path, 'utf8'))
  } catch (error) {
    if (!isNamed || !(error instanceof PipelineError)) throw error
    throw new PipelineError(error.issues.map((issue) => ({ ...issue, path: `${path}: ${issue.path}` })))
  }
}

/** Makes the pipeline of a document. Paths in it are meant from its folder. */
export async function openPipeline(document: PipelineDocument, path: string, around: Surroundings): Promise<Pipeline> {
  const opening = new Opening(dirname(resolve(path)), around)
  const { name, rate, maxRejected, lease, execution } = document
  if (rate && !around.limiter)
    throw wrongOption('--policy', undefined, `give the policy with the rule ${rate.rule}, for the rate of ${name}`)
  const sink = await opening.sink(document.sink)
  const positions = opening.positions(document.positions, sink as PipelineSink)
  return createPipeline<Row>({
    name,
    source: await opening.source(document.source),
    steps: await Promise.all((document.steps ?? []).map((step) => stepOf(step, opening.folder, around.redis))),
    sink,
    ...(execution && { execution }),
    ...(rate && around.limiter && { limiter: around.limiter, rate: rateOf(rate) }),
    ...(positions && { positions }),
    ...(document.deadLetters && {
      deadLetters: (await opening.sink({ ...document.deadLetters, positions: false })) as never,
    }),
    ...(maxRejected !== undefined && { maxRejected }),
    ...(document.run !== undefined && { run: opening.secret(document.run) }),
    ...(lease !== undefined && { lease }),
    dryRun: around.dryRun,
  })
}

function rateOf({ rule, key, cost }: NonNullable<PipelineDocument['rate']>): NonNullable<PipelineOptions<Row>['rate']> {
  return {
    rule,
    ...(key !== undefined && { key: (row: Row) => String(row[key]) }),
    ...(cost !== undefined && { cost: (row: Row) => Number(row[cost]) }),
  }
}

class Opening {
  readonly folder: string
  readonly #around: Surroundings
  readonly #pools = new Map<string, Pool>()

  constructor(folder: string, around: Surroundings) {
    this.folder = folder
    this.#around = around
  }

  async source(kind: Kind): Promise<PipelineOptions['source']> {
    const { file, postgres, url, key, columns, use, 'redis-stream': stream, ...options } = kind
    if (file !== undefined) return fileSource(resolve(this.folder, file as string), options)
    if (postgres !== undefined)
      return postgresSource(this.#pool(url), {
        table: postgres as string,
        key: namesIn(key),
        ...(columns !== undefined && { columns: namesIn(columns) }),
      })
    if (stream !== undefined) return redisStreamSource(this.#redis(), { stream: namesIn(stream), ...options })
    if (kind.kafka !== undefined) return openKafka(kind, (written) => this.secret(written))
    if (kind.kinesis !== undefined) return openKinesis(kind)
    return (await useModule(use as string, this.folder)) as PipelineSource
  }

  async sink(kind: Kind): Promise<PipelineOptions<Row>['sink']> {
    const { file, postgres, url, conflict, update, columns, positions, use, 'redis-stream': stream, ...options } = kind
    if (file !== undefined) return fileSink(resolve(this.folder, file as string))
    if (stream !== undefined) return redisStreamSink(this.#redis(), { stream: stream as string, ...options })
    if (postgres === undefined) return (await useModule(use as string, this.folder)) as PipelineSink
    const some = update === undefined || update === 'all' ? {} : { update: update === 'none' ? [] : namesIn(update) }
    return postgresSink(this.#pool(url), {
      table: postgres as string,
      ...(conflict !== undefined && { conflict: namesIn(conflict) }),
      ...(columns !== undefined && { columns: namesIn(columns) }),
      ...(positions !== undefined && { positions: positions as string | false }),
      ...some,
    })
  }

  /** Where the document says; else, unless the sink keeps them, in Redis if there is one. */
  positions(given: PipelineDocument['positions'], sink: PipelineSink): Positions | undefined {
    if (given !== undefined && given !== 'redis')
      return postgresPositions(this.#pool(given.url), { table: given.postgres as string })
    if (given === 'redis') return redisPositions(this.#redis())
    return sink.positions === undefined && this.#around.redis ? redisPositions(this.#around.redis) : undefined
  }

  /** What `env:NAME` and `file:PATH` stand for. */
  secret(written: string): string {
    const [, kind, place = ''] = /^(env|file):(.+)$/s.exec(written) ?? []
    if (kind === undefined) return written
    const value = kind === 'env' ? this.#around.env[place] : readFileSync(resolve(this.folder, place), 'utf8').trim()
    if (!value)
      throw wrongOption(written, undefined, kind === 'env' ? `set the variable ${place}` : 'the file is empty')
    return value
  }

  #pool(url: unknown): Pool {
    const connectionString = this.secret((url as string | undefined) ?? 'env:DATABASE_URL')
    const known = this.#pools.get(connectionString)
    if (known) return known
    const pool = new Pool({ connectionString })
    // Connections that are lost are made again; whoever uses one sees its own error.
    pool.on('error', () => undefined)
    pool.on('connect', (client) => void client.on('error', () => undefined))
    this.#around.opened.push(() => pool.end())
    this.#pools.set(connectionString, pool)
    return pool
  }

  #redis(): RedisHandle {
    const { redis } = this.#around
    if (redis === undefined) throw wrongOption('--redis', undefined, 'give the Redis with the streams or positions')
    return redis
  }
}
