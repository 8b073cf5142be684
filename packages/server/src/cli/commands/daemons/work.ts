import type { Pipeline, RunReport } from 'sluice/pipeline'
import { knownVariables } from '../../../config/config.ts'
import { redisFrom } from '../../../config/redis-from.ts'
import { unknownVariables } from '../../../config/variables.ts'
import { readDocument } from '../../../work/open-pipeline.ts'
import { openWorker, type Worker } from '../../../work/work.ts'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import { listenError } from '../../serve/listen-error.ts'
import { endSignal } from '../../serve/signals.ts'
import { count, countOf, duration } from '../../terminal/numbers.ts'
import { progress } from '../../terminal/progress.ts'
import type { Terminal } from '../../terminal/terminal.ts'

const [barMs, lineMs] = [200, 10_000]

/** Runs the pipelines of documents until they end, or until SIGTERM or SIGINT. */
export async function workCommand(input: Input, terminal: Terminal): Promise<ExitCode> {
  const documents = input.args
  const names = documents.map((path) => readDocument(path).name)
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
    return 0
  } finally {
    endProgress()
    await worker.close()
  }
}

function runLine({ name, outcome, written, rejected, durationMs }: RunReport & { readonly name: string }): string {
  const rate = durationMs > 0 ? `, ${count((written / durationMs) * 1000)}/s` : ''
  return `${name}: ${outcome} in ${duration(durationMs)}, ${countOf(written, 'record')} written${rate}, ${count(rejected)} rejected`
}

/** A bar on a terminal, else a line now and then; the returned function ends it. */
function showProgress({ pipelines }: Worker, terminal: Terminal): () => void {
  if (terminal.json) return () => undefined
  const bar = terminal.liveProgress ? progress(terminal) : undefined
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
  const lag = mode === 'streaming' ? `, lag ${count(partitions.reduce((sum, each) => sum + (each.lag ?? 0), 0))}` : ''
  return `${pipeline.name}: ${countOf(written, 'record')}, ${rate}/s, ${count(rejected)} rejected${time}${lag}`
}
