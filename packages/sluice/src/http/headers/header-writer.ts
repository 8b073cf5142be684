import type { LimitStatus } from '../../core/engine/ask.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Header } from './header.ts'

/** The name under which clients see a limit. */
export type NameOf = (status: LimitStatus) => string

/**
 * Writes the fields of one version for a decision on at least one limit. `partition` is the parameter `;pk=...`, or
 * nothing.
 */
export type HeaderWriter = (decision: Decision, partition: string) => Header[]
