export type { Algorithm, PaceStatus } from '../core/algorithms/algorithm.ts'
export type { CalendarUnit } from '../core/algorithms/calendar-period.ts'
export type { AlgorithmName, Limit, LimitAlgorithm, Pace } from '../core/algorithms/limit.ts'
export {
  blankState,
  type Extra,
  type Hold,
  type HoldKind,
  type KeptLimit,
  type Log,
  type State,
} from '../core/algorithms/state.ts'
export type {
  Answer,
  AnsweredBy,
  Ask,
  Charge,
  ChargedRule,
  ChargeTerms,
  DebitAsk,
  ExtendAsk,
  HoldRequest,
  KnownHold,
  OnStoreFailure,
  PeekAsk,
  RaiseAsk,
  RefundAsk,
  ResetAsk,
  ResizeAsk,
  SettleAsk,
  TakeAsk,
} from '../core/engine/ask.ts'
export { decide, setEndUs } from '../core/engine/engine.ts'
export type { LimitSet } from '../core/engine/limit-set.ts'
export { packState, type UnpackedState, unpackState } from '../core/engine/pack-state.ts'
export { type FailureKind, StoreError } from '../core/errors.ts'
export { type DecideOnValues, type StateStoreOptions, type StateWrite, stateStore } from './state-store.ts'
export type { AnswerCallback, Store, StoreAbilities, StoreHealth, StoreObserver, WaitLine, Waits } from './store.ts'
export { storeOf } from './store-of.ts'
export { type StoreChanges, wrapStore } from './wrap-store.ts'
