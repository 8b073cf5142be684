import type { Step } from './leave-out.ts'

/** A step of the shipper that is left out wherever it occurs. */
export interface Mutant {
  readonly step: string
  readonly isLeftOut: (step: Step) => boolean
  /** Whether the disk fails too, besides the crashes. */
  readonly diskFails?: true
  /** Whether few moments show it, so that a crash at every step is tried. */
  readonly isRare?: true
}

const of =
  (operation: Step['operation'], name: RegExp, ...after: readonly Step['after'][]): Mutant['isLeftOut'] =>
  (step) =>
    step.operation === operation && name.test(step.name) && (after.length === 0 || after.includes(step.after))

const openSegment = /\.open$/
const segment = /\.seg$/
const checkpoint = /^checkpoint-/
const rejected = /^rejected-/
const state = /^\.backpressure-state/
const owner = /^owner[-.]/

/** Steps without which a promise is broken. The crash test must notice each. */
export const mutants: readonly Mutant[] = [
  { step: 'sync the parent of a new directory', isLeftOut: of('syncDir', /^buffer$/, 'makeDir') },
  { step: 'sync the directory after a segment is begun', isLeftOut: of('syncDir', openSegment, 'create') },
  { step: 'write records', isLeftOut: of('write', openSegment) },
  { step: 'sync records before they are acknowledged', isLeftOut: of('durable-write', openSegment) },
  { step: 'rename a finished segment', isLeftOut: of('rename', segment) },
  { step: 'write the checkpoint', isLeftOut: of('write', checkpoint) },
  { step: 'sync the checkpoint', isLeftOut: of('datasync', checkpoint) },
  {
    step: 'sync the directory after a checkpoint is begun',
    isLeftOut: of('syncDir', checkpoint, 'create'),
    isRare: true,
  },
  { step: 'remove a segment that is shipped', isLeftOut: of('remove', segment) },
  { step: 'write rejected events', isLeftOut: of('write', rejected) },
  { step: 'sync rejected events', isLeftOut: of('datasync', rejected) },
  {
    step: 'sync the directory after a file of rejected events is begun',
    isLeftOut: of('syncDir', rejected, 'create'),
    isRare: true,
  },
  { step: 'write the state', isLeftOut: of('write', state) },
  { step: 'sync the state before it takes its name', isLeftOut: of('datasync', state) },
  { step: 'give the new state its name', isLeftOut: of('rename', state) },
  { step: 'write the owner into its lock', isLeftOut: of('write', owner) },
  { step: 'sync the lock', isLeftOut: of('datasync', owner) },
  { step: 'give the lock its name', isLeftOut: of('link', owner) },
  {
    step: 'sync the directory after the state is replaced',
    isLeftOut: of('syncDir', state, 'create', 'rename'),
    isRare: true,
  },
  {
    step: 'sync the directory after the lock is taken',
    isLeftOut: of('syncDir', owner, 'create', 'link'),
    isRare: true,
  },
]

/** Steps that no promise depends on, and why. */
export const harmless: readonly (Mutant & { readonly why: string })[] = [
  {
    step: 'cut off what a failed write has left',
    isLeftOut: of('truncate', openSegment),
    diskFails: true,
    why: 'it has no valid checksum, or a number that is known; to cut it off gives space back to a full disk',
  },
  {
    step: 'sync the directory after a segment is renamed',
    isLeftOut: of('syncDir', segment, 'rename'),
    why: 'either name is found after a crash',
  },
  {
    step: 'sync the directory after a segment is removed',
    isLeftOut: of('syncDir', segment, 'remove'),
    why: 'if it comes back, the checkpoint knows that it was shipped',
  },
]
