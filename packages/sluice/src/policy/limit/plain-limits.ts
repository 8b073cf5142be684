import { maxUnits } from '../../core/algorithms/limit.ts'
import { maxLimitsPerRule } from '../../core/engine/limit-set.ts'
import type { LimitSpec, LimitsSpec } from '../document/document.ts'

const isUnits = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= maxUnits

const isPlain: Readonly<Record<Exclude<keyof LimitSpec, 'pace' | 'name'>, (value: unknown) => boolean>> = {
  rps: isUnits,
  rpm: isUnits,
  rph: isUnits,
  rpd: isUnits,
  amount: isUnits,
  burst: (value) => isUnits(value) && value !== 0,
  per: (value) => typeof value === 'string',
  zone: (value) => typeof value === 'string',
  algorithm: (value) =>
    ['fixed-window', 'sliding-window', 'sliding-log', 'gcra', 'calendar', 'concurrency'].includes(value as string),
  align: (value) => value === 'first-hit' || value === 'clock',
}

/**
 * Whether limits surely have the shape that the schema of documents asks for, so that a program with plain limits does
 * without the schema. False is no verdict: the schema then says what is wrong, if anything.
 */
export function arePlainLimits(limits: unknown): limits is LimitsSpec {
  if (!Array.isArray(limits)) return isPlainLimit(limits)
  return limits.length > 0 && limits.length <= maxLimitsPerRule && limits.every(isPlainLimit)
}

function isPlainLimit(limit: unknown): boolean {
  if (typeof limit !== 'object' || limit === null || Object.getPrototypeOf(limit) !== Object.prototype) return false
  return Object.entries(limit).every(
    ([name, value]) => Object.hasOwn(isPlain, name) && isPlain[name as keyof typeof isPlain](value),
  )
}
