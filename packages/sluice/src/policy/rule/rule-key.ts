import { encodeKey, type KeyPart, type ReadKeyPart } from '../../core/key.ts'
import type { RequestView } from '../request-view.ts'
import type { Captured, Selector } from '../selector/selector.ts'

/** One way to a subject: selectors, or a function. */
export interface Alternative {
  readonly selectors: readonly Selector[] | undefined
  /** The parts, or undefined when the request lacks one. */
  read(request: RequestView, captured: Captured | undefined): readonly string[] | undefined
  /** The parts, with `malformed` for those that identify no subject; undefined when the request lacks one. */
  readShared(request: RequestView, captured: Captured | undefined): readonly KeyPart[] | undefined
  /** What the request lacks, in words. */
  lacking(request: RequestView, captured: Captured | undefined): string
}

/** The part of a malformed key: no text of a request is a boolean, so it never equals a real one. */
export const malformed = false

/** Whose bucket: from a request to the subject of a rule. */
export interface RuleKey {
  readonly alternatives: readonly Alternative[]
  /** Whether subjects begin with the index of the alternative, so that alternatives never share a bucket. */
  readonly numbered: boolean
  subject(request: RequestView, captured: Captured | undefined): string | undefined
  /**
   * The subject of a request that has the parts of the key, but of the wrong type, empty or contradicting: all of these
   * share a bucket. A client must not get out of a rule by sending nonsense.
   */
  sharedSubject(request: RequestView, captured: Captured | undefined): string | undefined
  lacking(request: RequestView, captured: Captured | undefined): string
}

/** The key that is read by the first of several ways that the request has. */
export function keyOf(alternatives: readonly Alternative[], numbered: boolean): RuleKey {
  return {
    alternatives,
    numbered,
    subject: (request, captured) => {
      for (let i = 0; i < alternatives.length; i++) {
        const parts = alternatives[i]!.read(request, captured)
        if (parts) return encodeKey(numbered ? [i, ...parts] : parts)
      }
      return undefined
    },
    sharedSubject: (request, captured) => {
      for (let i = 0; i < alternatives.length; i++) {
        const parts = alternatives[i]!.readShared(request, captured)
        if (parts) return encodeKey(numbered ? [i, ...parts] : parts)
      }
      return undefined
    },
    lacking: (request, captured) => alternatives.map((one) => one.lacking(request, captured)).join('; '),
  }
}

/** Reads each part of a key by a selector. */
export function bySelectors(selectors: readonly Selector[]): Alternative {
  return {
    selectors,
    read: selectors.length === 1 ? readOne(selectors[0]!) : readAll(selectors),
    readShared: (request, captured) => {
      const parts = selectors.map((selector) => {
        const text = selector.read(request, captured)
        return text === undefined && selector.isMalformed(request, captured) ? malformed : text
      })
      return parts.includes(undefined) ? undefined : (parts as KeyPart[])
    },
    lacking: (request, captured) =>
      selectors
        .filter((selector) => selector.read(request, captured) === undefined)
        .map(({ text }) => text)
        .join(', '),
  }
}

function readOne(selector: Selector): Alternative['read'] {
  return (request, captured) => {
    const text = selector.read(request, captured)
    return text === undefined ? undefined : [text]
  }
}

function readAll(selectors: readonly Selector[]): Alternative['read'] {
  return (request, captured) => {
    const parts: string[] = []
    for (const selector of selectors) {
      const text = selector.read(request, captured)
      if (text === undefined) return undefined
      parts.push(text)
    }
    return parts
  }
}

/**
 * Why no request can have a key of so many parts; undefined when one can. Where a function makes the keys, any number
 * of parts is possible.
 */
export function whyNoRequestHas(key: RuleKey, parts: readonly ReadKeyPart[]): string | undefined {
  const isCounted = ({ selectors }: Alternative, count: number): boolean =>
    selectors === undefined ? count > 0 : selectors.length === count
  const given = `${parts.length} ${parts.length === 1 ? 'was' : 'were'} given`
  if (!key.numbered) {
    const [only] = key.alternatives
    if (isCounted(only!, parts.length)) return undefined
    const { length } = only!.selectors ?? []
    return `its keys have ${length} ${length === 1 ? 'part' : 'parts'}, ${partNames(only!)}; ${given}`
  }
  const [index] = parts
  const alternative = typeof index === 'number' ? key.alternatives[index] : undefined
  if (alternative && isCounted(alternative, parts.length - 1)) return undefined
  const forms = key.alternatives.map((one, i) => `#${i}/${partNames(one).replaceAll(', ', '/')}`)
  return `its keys begin with the number of an alternative: ${forms.join(' or ')} (in JSON the number itself)`
}

function partNames({ selectors }: Alternative): string {
  return selectors?.map(({ text }) => text).join(', ') ?? 'the parts that its function returns'
}
