import { SluiceError } from '../../core/errors.ts'
import type { FileSystem } from './file-system.ts'

/** Makes the directory of a buffer; if that fails, the error names the directory and the reason. */
export async function makeBufferDir(fs: Pick<FileSystem, 'makeDir'>, dir: string): Promise<void> {
  await fs.makeDir(dir).catch((cause: unknown) => {
    const { message } = cause as Error
    throw new SluiceError('SLUICE_BUFFER_FAILED', `the directory ${dir} of the buffer cannot be made: ${message}`, {
      cause,
      transient: true,
    })
  })
}
