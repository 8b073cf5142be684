import { SluiceError } from '../core/errors.ts'
import { describeIssues, type PolicyIssue } from '../policy/document/policy-error.ts'

/** A pipeline document, or an `execution`, that does not make sense. `issues` lists every mistake. */
export class PipelineError extends SluiceError {
  override readonly name = 'PipelineError'
  readonly issues: readonly PolicyIssue[]

  constructor(issues: readonly PolicyIssue[]) {
    super('SLUICE_INVALID_PIPELINE', describeIssues('pipeline', issues))
    this.issues = issues
  }
}

/** An error that no trying again mends: the run ends with it. */
export function pipelineFailed(message: string, cause?: unknown): SluiceError {
  return new SluiceError('SLUICE_PIPELINE_FAILED', message, { cause })
}
