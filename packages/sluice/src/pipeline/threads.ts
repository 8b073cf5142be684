import { availableParallelism } from 'node:os'
import { pathToFileURL } from 'node:url'
import type { Piscina } from 'piscina'
import { checkOptionNames, checkWhole } from '../core/check-options.ts'
import { missingPeer } from '../core/missing-peer.ts'
import { Rejected, type Step } from './steps.ts'

/**
 * A step that computes in worker threads (needs piscina), so that `parallelism` means cores. The default export of the
 * module takes the values of a batch and returns as many; an `Error` in the place of one rejects it.
 *
 * @example threads(new URL('./score.js', import.meta.url), { size: 4 })
 */
export function threads(file: string | URL, options: { readonly size?: number } = {}): Step {
  checkOptionNames('threads', options, ['size'])
  const { size = availableParallelism() } = options
  checkWhole('threads.size', size, 1, 'threads')
  let opening: Promise<Piscina> | undefined
  return {
    async batch(values: readonly unknown[], { signal }) {
      opening ??= open(String(file instanceof URL ? file : pathToFileURL(file)), size).catch((error) => {
        opening = undefined
        throw error
      })
      const results = (await (await opening).run(values, { signal })) as readonly unknown[]
      return results.map((each) => (each instanceof Error ? new Rejected(each.message) : each))
    },
    close: async () => (await opening)?.destroy(),
  }
}

async function open(filename: string, size: number): Promise<Piscina> {
  const { Piscina: Pool } = await import('piscina').catch((cause) =>
    Promise.reject(missingPeer('sluice/pipeline', 'piscina', '5', cause)),
  )
  return new Pool({ filename, minThreads: 1, maxThreads: size })
}
