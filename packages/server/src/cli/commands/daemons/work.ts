import type { Pipeline, RunReport } from 'sluice/pipeline'
import { knownVariables } from '../../../config/config.ts'
import { redisFrom } from '../../../config/redis-from.ts'
import { unknownVariables } from '../../../config/variables.ts'
import { readDocuments } from '../../../work/open-pipeline.ts'
import { openWorker, type Worker } from '../../../work/work.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { listenError } from '../../serve/listen-error.ts'
import { endSignal } from '../../serve/signals.ts'
import { count, countOf, duration } from '../../terminal/numbers.ts'
import { progress } from '../../terminal/progress.ts'
import { safe } from '../../terminal/text.ts'

const [barMs, lineMs] = [200, 10_000]

/** Runs the pipelines of documents until they end, or until SIGTERM or SIGINT. */
export async function workCommand(input: Input, terminal: Terminal): Promise<ExitCode> {
  const read = readDocuments(input.args)
  const documents = read.map((document, i) => ({ document, path: input.args[i]! }))
  const names = read.map(({ name }) => name)
  if (input.flag('check')) {
    terminal.result({ valid: true, pipelines: names }, () => {
      terminal.line(`${terminal.style.good('valid')}: ${names.join(', ')}`)
    })
    return 0
  }
  for (const warning of unknownVariables(terminal.env, knownVariables)) terminal.note(warning)
  const ended = endSignal(() => process.exit(130))
  const [host, port] = [input.text('host') ?? '127.0.0.1', input.port('port') ?? 8470]
  const worker = await openWorker(
    {
      documents,
      redis: redisFrom(input),
      policy: input.text('policy'),
      service: input.text('service') ?? 'pipelines',
      host,
      port,
      portGiven: input.given('port'),
      drainMs: input.duration('drain', 0) ?? 30_000,
      dryRun: input.flag('dry-run'),
      env: terminal.env,
    },
    terminal.live,
  ).catch((error: NodeJS.ErrnoException) => {
    throw listenError(error, { host, port }) ?? error
  })
  terminal.note(terminal.style.faint(`working on ${names.join(', ')}; health and metrics at ${worker.url}`))
  const endProgress = showProgress(worker, terminal)
  void ended.then(() => worker.close())
  try {
    const reports = await worker.run()
    endProgress()
    const runs = reports.map((report, i) => ({ name: worker.pipelines[i]!.name, ...report }))
    terminal.result({ runs }, () => {
      for (const run of runs) terminal.line(runLine(run))
    })
    // Whoever started it must not take a load for done of which a part is left.
    return worker.pipelines.some((pipeline, i) => isUnfinished(pipeline, reports[i]!)) ? 130 : 0
  } finally {
    endProgress()
    await worker.close()
  }
}

const isUnfinished = (pipeline: Pipeline, { outcome }: RunReport): boolean =>
  outcome === 'stopped' && pipeline.stats().mode === 'batch'

function runLine({ name, outcome, written, rejected, durationMs }: RunReport & { readonly name: string }): string {
  const rate = durationMs > 0 ? `, ${count((written / durationMs) * 1000)}/s` : ''
  return `${name}: ${outcome} in ${duration(durationMs)}, ${countOf(written, 'record')} written${rate}, ${count(rejected)} rejected`
}

/** A bar on a terminal, else a line now and then, and what fails; the returned function ends it. */
function showProgress({ pipelines }: Worker, terminal: Terminal): () => void {
  const bar = terminal.liveProgress && !terminal.json ? progress(terminal) : undefined
  for (const pipeline of pipelines) noteFailures(pipeline, terminal, () => bar?.end())
  if (terminal.json) return () => undefined
  const startedAt = performance.now()
  const timer = setInterval(
    () => {
      const elapsedMs = performance.now() - startedAt
      if (bar) bar.at(shareOf(pipelines), pipelines.map((each) => progressText(each, elapsedMs)).join('; '))
      else for (const each of pipelines) terminal.note(progressText(each, elapsedMs))
    },
    bar ? barMs : lineMs,
  )
  return () => {
    clearInterval(timer)
    bar?.end()
  }
}

/** What fails is tried again for as long as it takes: without a word, a worker would seem to have nothing to do. */
function noteFailures(pipeline: Pipeline, terminal: Terminal, endBar: () => void): void {
  let quietUntil = 0
  pipeline.on('failed', ({ operation, error, retryInMs }) => {
    const now = performance.now()
    if (now < quietUntil) return
    quietUntil = now + lineMs
    const { message, code } = error as { message?: string; code?: string }
    endBar()
    const line = `${pipeline.name}: ${operation} failed, again in ${duration(retryInMs)}: ${message || code || error}`
    terminal.note(terminal.style.warn(safe(line)))
  })
}

function shareOf(pipelines: readonly Pipeline[]): number {
  const all = pipelines.map((pipeline) => pipeline.stats())
  const total = all.reduce((sum, { partitionsTotal }) => sum + partitionsTotal, 0)
  return total === 0 ? 0 : all.reduce((sum, { partitionsDone }) => sum + partitionsDone, 0) / total
}

function progressText(pipeline: Pipeline, elapsedMs: number): string {
  const { written, rejected, partitionsDone, partitionsTotal, mode, partitions } = pipeline.stats()
  const rate = count((written / Math.max(1, elapsedMs)) * 1000)
  const left = (elapsedMs / partitionsDone) * (partitionsTotal - partitionsDone)
  const time = mode === 'batch' && partitionsDone > 0 ? `, ${duration(left)} left` : ''
  const isWaiting = partitions.length > 0 && partitions.every(({ doing }) => doing === 'waiting')
  const lag = mode === 'streaming' ? `, lag ${count(partitions.reduce((sum, each) => sum + (each.lag ?? 0), 0))}` : ''
  return `${pipeline.name}: ${countOf(written, 'record')}, ${rate}/s, ${count(rejected)} rejected${time}${lag}${isWaiting ? ', waits for the rate' : ''}`
}
