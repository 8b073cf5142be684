import { callOptionCheck, optionNames } from '../core/check-options.ts'
import { invalidOption } from '../core/errors.ts'
import type { BlockOptions, CheckOptions, HoldOptions, RefundOptions, TakeOptions, WaitOptions } from './limiter.ts'

const rule: readonly string[] = ['rule']
const take = optionNames<TakeOptions>({ rule: true, cost: true, tier: true, class: true })
const check = optionNames<CheckOptions>({ rule: true, cost: true })
const wait = optionNames<WaitOptions>({
  ...{ rule: true, cost: true, tier: true, class: true, maxWait: true, signal: true },
})
const hold = optionNames<HoldOptions>({
  ...{ rule: true, cost: true, tier: true, class: true, id: true, ttl: true, renew: true, maxWait: true, signal: true },
})
const block = optionNames<BlockOptions>({ for: true, rule: true })
const refund = optionNames<RefundOptions>({ rule: true, cost: true, tier: true, class: true, takenAt: true })

type Method =
  | ('take' | 'wait' | 'peek' | 'check' | 'admit' | 'reserve' | 'acquire' | 'settle' | 'refund' | 'reset')
  | ('block' | 'unblock' | 'inspect')

const known: Readonly<Record<Method, readonly string[]>> = {
  ...{ take, wait, check, block, refund, peek: take, admit: hold, reserve: hold, acquire: hold },
  ...{ settle: rule, reset: rule, unblock: rule, inspect: [...rule, 'tier'] },
}

/** By method of the limiter: refuses options that it does not have. */
export const checkCallOptions: Readonly<Record<Method, (options: unknown) => void>> = Object.fromEntries(
  Object.entries(known).map(([method, names]) => [method, callOptionCheck(`limiter.${method}`, names)]),
) as Record<Method, (options: unknown) => void>

/** When the units of a refund were taken, in microseconds since the epoch; undefined when that was not said. */
export function takenUsOf(options: RefundOptions | undefined): number | undefined {
  const taken = options?.takenAt
  if (taken === undefined) return undefined
  const ms = Number(taken)
  if (Number.isFinite(ms) && ms >= 0) return Math.floor(ms * 1000)
  throw invalidOption('takenAt', taken, 'use the Date.now() of when the units were taken')
}
