// Runs in a thread of its own: parses one policy text and hands the result over in pieces, so that receiving it does
// not block either.
import { parentPort, workerData } from 'node:worker_threads'
import { PolicyError } from '../policy-error.ts'
import { takeApart } from './document-pieces.ts'
import { parseDocument } from './parse-document.ts'

const port = parentPort!
try {
  const pieces = takeApart(parseDocument(workerData as string))
  port.on('message', () => {
    const { value = undefined, done } = pieces.next()
    port.postMessage({ piece: value })
    if (done) port.close()
  })
  port.postMessage({})
} catch (error) {
  port.postMessage(error instanceof PolicyError ? { issues: error.issues } : { failed: String(error) })
}
