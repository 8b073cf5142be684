import { Worker } from 'node:worker_threads'
import type { PolicyIssue } from 'sluice/policy'
import type { TextRange } from '../../shapes/operating.ts'
import { locateIssues } from './locate-issues.ts'

/** Texts longer than this are read in a thread of their own. */
const longText = 20_000

/**
 * `locateIssues`, for a long text in a thread of its own: it parses the text a second time, and decisions must go on
 * meanwhile. An abort ends it. Where no thread can be started (sources run without a build) the places are found here.
 */
export async function locateInBackground(
  text: string,
  issues: readonly PolicyIssue[],
  signal?: AbortSignal,
): Promise<readonly (TextRange | undefined)[]> {
  signal?.throwIfAborted()
  if (text.length <= longText) return locateIssues(text, issues)
  const searched = issues.map(({ path, message }) => ({ path, message }))
  const worker = new Worker(new URL('./locate-worker.js', import.meta.url), { workerData: { text, issues: searched } })
  worker.unref()
  try {
    return await new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      worker.on('message', resolve)
      worker.on('error', reject)
      worker.on('exit', () => reject(new Error('the worker ended early')))
    })
  } catch (error) {
    if (signal?.aborted) throw error
    return locateIssues(text, issues)
  } finally {
    void worker.terminate()
  }
}
