import type { Worker } from 'node:worker_threads'
import { builtIn } from '../../built-in.ts'
import { PolicyError, type PolicyIssue } from '../policy-error.ts'
import { type DocumentPiece, putBack } from './document-pieces.ts'
import { parseDocument } from './parse-document.ts'

interface Message {
  readonly piece?: DocumentPiece | undefined
  readonly issues?: readonly PolicyIssue[]
  readonly failed?: string
}

/** A longer text, in UTF-16 units, takes long enough to parse to be worth a thread. */
const longText = 100_000
const tooLittleMemory = 'give the process more memory, as it does not suffice to parse this'

/**
 * `parseDocument`, for a long text in a thread of its own: YAML with ten thousand overrides takes a second to parse,
 * and decisions must go on meanwhile. Where no thread can be started (sources run without a build, or a bundle without
 * the worker's file) it is parsed here. An abort ends the thread.
 *
 * @example await parseInBackground('service: api\nrules: [{ name: per-user, limits: { rpm: 100 } }]')
 */
export async function parseInBackground(text: string, signal?: AbortSignal): Promise<unknown> {
  signal?.throwIfAborted()
  if (typeof text !== 'string' || text.length <= longText) return parseDocument(text)
  let worker: Worker
  try {
    const threads = builtIn('worker_threads')
    worker = new threads.Worker(new URL('./parse-worker.js', import.meta.url), { workerData: text, execArgv: [] })
  } catch {
    return parseDocument(text)
  }
  try {
    return await receive(worker, signal)
  } catch (error) {
    if (error instanceof PolicyError || signal?.aborted) throw error
    // Here it would end the whole process.
    if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY')
      throw new PolicyError([{ path: '', value: text, message: tooLittleMemory }], { cause: error })
    return parseDocument(text)
  } finally {
    void worker.terminate()
  }
}

function receive(worker: Worker, signal: AbortSignal | undefined): Promise<unknown> {
  return new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    let document: unknown
    worker.on('error', reject)
    worker.on('exit', () => reject(new Error('the worker ended early')))
    worker.on('message', (message: Message) => {
      if (message.issues) reject(new PolicyError(message.issues))
      else if (message.failed !== undefined) reject(new Error(message.failed))
      else if (!('piece' in message)) worker.postMessage('next')
      else if (message.piece === undefined) resolve(document)
      else {
        document = putBack(document, message.piece)
        // The next turn of the event loop, so that pieces never add up to a long pause.
        setImmediate(() => worker.postMessage('next'))
      }
    })
  })
}
