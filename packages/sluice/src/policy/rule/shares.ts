import { noneCalled } from '../../core/did-you-mean.ts'
import { limitSet } from '../../core/engine/any-limit-set.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { hash } from '../../core/engine/tag.ts'
import type { LimitsSpec, SharesSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import type { RequestView } from '../request-view.ts'
import { compileSelector } from '../selector/compile-selector.ts'
import type { Captured, Selector } from '../selector/selector.ts'

/** How the classes of a rule share its limit. */
export interface Shares {
  readonly classes: readonly string[]
  /** What the class is read with. */
  readonly selector: Selector | undefined
  ofRequest(request: RequestView, captured: Captured | undefined): string | undefined
  /** The limits of a class; those of the default class for one that is not known. */
  limitsOf(set: LimitSet, name: string | undefined): LimitSet
}

/** The shares of others are kept aside in each state, which has room for twice as many. */
const maxClasses = 16

/** Compiles `shares` of a rule, and reports what makes no sense. */
export function compileShares(spec: SharesSpec, path: string, report: Report): Shares {
  const percents = new Map(Object.entries(spec.of).map(([name, share]) => [name, Number.parseInt(share, 10)]))
  const classes = [...percents.keys()]
  const sum = [...percents.values()].reduce((total, percent) => total + percent, 0)
  if (sum > 100) report(`${path}.of`, spec.of, `the shares are ${sum}% together; use at most 100%`)
  if (classes.length > maxClasses) report(`${path}.of`, spec.of, `use at most ${maxClasses} classes`)
  if (!percents.has(spec.default)) report(`${path}.default`, spec.default, noneCalled('class', spec.default, classes))
  const twin = classes.find((name, c) => classes.findIndex((other) => hash(other) === hash(name)) < c)
  if (twin !== undefined)
    report(`${path}.of.${twin}`, spec.of[twin], 'stored state cannot tell it from another class; give it another name')
  const found = compileSelector(spec.by)
  const selector = typeof found === 'string' || found.root === 'key' ? undefined : found
  if (selector === undefined)
    report(
      `${path}.by`,
      spec.by,
      typeof found === 'string' ? found : 'each key has limits of its own: read the class from the request',
    )
  const bySet = new WeakMap<LimitSet, ReadonlyMap<string, LimitSet>>()
  const split = (set: LimitSet): ReadonlyMap<string, LimitSet> => {
    const [limit] = set.limits
    const made = new Map<string, LimitSet>()
    for (const [name, percent] of limit ? percents : []) {
      const share = { class: name, guaranteed: Math.floor((limit!.amount * percent) / 100) }
      const own = { ...limit!, name: `${limit!.name}-${name}`, algorithm: 'share', share } as const
      made.set(name, limitSet([limit!, own], undefined, set.block))
    }
    bySet.set(set, made)
    return made
  }
  return {
    classes,
    selector,
    ofRequest: (request, captured) => selector?.read(request, captured),
    limitsOf(set, name = spec.default) {
      if (set.fixed) return set
      const sets = bySet.get(set) ?? split(set)
      return sets.get(name) ?? sets.get(spec.default) ?? set
    },
  }
}

/** Only a limit that is counted by windows can be shared: at the end of one, everything is free again. */
export function checkShared({ limits }: LimitSet, spec: LimitsSpec, path: string, report: Report): void {
  const other = limits.find(({ algorithm }) => algorithm !== 'fixed-window' && algorithm !== 'calendar')
  if (other && other.algorithm !== 'pace')
    report(
      path,
      spec,
      `shares need a fixed-window or calendar limit, not ${other.algorithm}; change it, or leave shares out`,
    )
  else if (limits.length !== 1)
    report(path, spec, 'shares are of exactly one limit, without pace; put the others into a rule of their own')
}
