import { comparedSegment, couldBeAny, decodeSegment, pathSpellings } from '../selector/path-spellings.ts'

/** A pattern of paths, taken apart. */
export interface PathPattern {
  readonly text: string
  /** A name to capture (`:id`), or the segment itself, decoded and in lower case. */
  readonly segments: readonly ({ readonly capture: string } | { readonly text: string })[]
  /** Whether anything may follow (`/*`), nothing included. */
  readonly open: boolean
}

const maxSegments = 64

/**
 * Parses a pattern, or returns what is wrong with it. There are no regular expressions: a segment is text, `:name`,
 * or a last `*`.
 *
 * Some frameworks route `/V1/Users/`, `/v1//users` and `/v1/%75sers` to the handler of `/v1/users`, so a pattern
 * matches all of these: no spelling of a path gets around its limit.
 */
export function parsePattern(text: string): PathPattern | string {
  if (!text.startsWith('/')) return 'begin with a slash, such as /v1/users/:id'
  if (/[?#\s]/.test(text)) return 'write the path alone, without query or spaces'
  const pieces = text.split('/').filter((piece) => piece !== '')
  const open = pieces.at(-1) === '*'
  if (open) pieces.pop()
  if (pieces.length > maxSegments) return `use at most ${maxSegments} segments`
  const segments: PathPattern['segments'][number][] = []
  const names = new Set<string>()
  for (const piece of pieces) {
    if (piece.includes('*')) return '* stands alone at the end, such as /v1/*'
    if (/[{}()[\]<>|\\^$+]/.test(piece))
      return `${piece} is written for another router; a capture is a whole segment such as :id, and * stands at the end`
    if (!piece.startsWith(':')) {
      segments.push({ text: comparedSegment(piece) })
      continue
    }
    const capture = piece.slice(1)
    if (!/^[A-Za-z_]\w*$/.test(capture)) return `${piece} is no name; a capture is a whole segment, such as :id`
    if (names.has(capture)) return `${piece} is captured twice`
    names.add(capture)
    segments.push({ capture })
  }
  return { text, segments, open }
}

/**
 * Compares one path with one pattern and returns what it captured. The index does the same for many patterns at once.
 */
export function matchPattern(pattern: PathPattern, path: string): readonly string[] | undefined {
  if (couldBeAny(path)) return captureNames(pattern).map(() => '')
  for (const spelling of pathSpellings(path)) {
    const captured = matchSpelling(pattern, spelling)
    if (captured !== undefined) return captured
  }
  return undefined
}

function matchSpelling(pattern: PathPattern, path: string): readonly string[] | undefined {
  const pieces = path.split('/').filter((piece) => piece !== '')
  const { segments, open } = pattern
  if (open ? pieces.length < segments.length : pieces.length !== segments.length) return undefined
  const captured: string[] = []
  for (const [i, segment] of segments.entries()) {
    if ('capture' in segment) captured.push(decodeSegment(pieces[i]!))
    else if (segment.text !== comparedSegment(pieces[i]!)) return undefined
  }
  return captured
}

/** The names a pattern captures, in order. */
export function captureNames(pattern: PathPattern): readonly string[] {
  return pattern.segments.flatMap((segment) => ('capture' in segment ? [segment.capture] : []))
}
