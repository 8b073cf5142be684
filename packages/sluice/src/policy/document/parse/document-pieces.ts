/** A part of a document that is handed over by itself: items of one long list, after the rest of the document. */
export type DocumentPiece =
  | { readonly document: unknown }
  | { readonly rule: number; readonly overrides: readonly unknown[] }

/** How many overrides one piece has; receiving as many takes about a millisecond. */
const pieceLength = 500

/** Takes a parsed document apart: first the document without its overrides, then these in pieces. */
export function* takeApart(document: unknown): Generator<DocumentPiece, undefined> {
  const lists: (readonly [rule: number, overrides: readonly unknown[]])[] = []
  const rules: unknown = (document as { rules?: unknown } | null)?.rules
  if (Array.isArray(rules)) {
    for (const [r, rule] of rules.entries()) {
      const overrides: unknown = (rule as { overrides?: unknown } | null)?.overrides
      if (Array.isArray(overrides) && overrides.length > pieceLength) lists.push([r, overrides])
    }
  }
  const without = (rule: unknown, r: number): unknown =>
    lists.some(([long]) => long === r) ? { ...(rule as object), overrides: [] } : rule
  yield { document: lists.length === 0 ? document : { ...(document as object), rules: (rules as []).map(without) } }
  for (const [rule, overrides] of lists) {
    for (let at = 0; at < overrides.length; at += pieceLength) {
      yield { rule, overrides: overrides.slice(at, at + pieceLength) }
    }
  }
  return undefined
}

/** Puts a piece where it belongs in the document that came first. */
export function putBack(document: unknown, piece: DocumentPiece): unknown {
  if ('document' in piece) return piece.document
  const { overrides } = (document as { rules: { overrides: unknown[] }[] }).rules[piece.rule]!
  overrides.push(...piece.overrides)
  return document
}
