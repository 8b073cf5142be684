/** What was opened, to be closed in reverse. */
export type Opened = (() => unknown)[]

/** Closes in reverse what was opened. */
export async function closeAll(opened: Opened): Promise<void> {
  for (const close of opened.splice(0).reverse()) await close()
}
