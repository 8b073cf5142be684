import { type CompiledPolicy, compilePolicy } from 'sluice/policy'

/**
 * Checks a document away from the code that will enforce it: keys by functions (`fn:tenantOf`) are taken as they are,
 * and `functions` lists their names.
 */
export function compileApart(document: unknown): { policy: CompiledPolicy; functions: readonly string[] } {
  const functions = new Set<string>()
  const policy = compilePolicy(document, {
    functions: (name) => {
      functions.add(name)
      return () => null
    },
  })
  return { policy, functions: [...functions] }
}
