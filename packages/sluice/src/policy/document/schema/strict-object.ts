import * as z from 'zod'

/**
 * A strict object whose complaint about an unknown key is the list of the known ones; `schema-issues.ts` finds the
 * nearest.
 */
export function strictObject<Shape extends z.core.$ZodShape>(
  shape: Shape,
  description: string,
): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape).join(' ')
  return z
    .strictObject(shape, { error: (issue) => (issue.code === 'unrecognized_keys' ? known : undefined) })
    .describe(description)
}
