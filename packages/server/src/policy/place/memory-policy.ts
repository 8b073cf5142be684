import { SluiceError } from 'sluice'
import type { PolicyArchive, PolicySource, PolicyVersion, SourceListener } from 'sluice/policy'

const versionsKept = 10

/** A policy that lives in the daemon alone: it can be changed while the daemon runs and is forgotten with it. */
export function memoryPolicy(
  document: unknown,
  description: string,
): PolicySource & { readonly archive: PolicyArchive } {
  const versions: PolicyVersion[] = [{ revision: 1, createdAt: new Date(), document }]
  let listener: SourceListener | undefined
  const newest = (): PolicyVersion => versions[0]!
  return {
    description,
    async start(given) {
      listener = given
      return newest()
    },
    async close() {
      listener = undefined
    },
    archive: {
      async push(next, { after } = {}) {
        if (after !== undefined && after !== newest().revision)
          throw new SluiceError('SLUICE_POLICY_CHANGED', `somebody else has pushed a policy since revision ${after}`)
        const version = { revision: newest().revision + 1, createdAt: new Date(), document: next }
        versions.unshift(version)
        versions.length = Math.min(versions.length, versionsKept)
        listener?.changed(version)
        return version.revision
      },
      history: async (limit) => versions.slice(0, limit),
    },
  }
}
