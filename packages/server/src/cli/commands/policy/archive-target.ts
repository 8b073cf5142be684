import type { PolicyVersion } from 'sluice/policy'
import { openArchive } from './open-archive.ts'
import type { PolicyTarget } from './policy-target.ts'

/** How far back a revision is looked for. */
const farthest = 1000

/** Works on the source itself. Every replica that follows it takes the change up. */
export async function archiveTarget(place: string): Promise<PolicyTarget> {
  const archive = await openArchive(place)
  let known: readonly PolicyVersion[] | undefined
  return {
    description: archive.description,
    current: () => archive.current(),
    push: async (document) => ({ revision: await archive.push(document) }),
    async versions(limit) {
      known = await archive.history(limit)
      return known.map(({ revision, createdAt }) => ({ revision, createdAt: createdAt.toISOString() }))
    },
    async document(revision) {
      const isIt = (version: PolicyVersion): boolean => version.revision === revision
      return (known?.find(isIt) ?? (await archive.history(farthest)).find(isIt))?.document
    },
    close: () => archive.close(),
  }
}
