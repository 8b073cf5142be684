// Runs in a thread of its own: finds where in a long text the mistakes of a policy stand.
import { parentPort, workerData } from 'node:worker_threads'
import type { PolicyIssue } from 'sluice/policy'
import { locateIssues } from './locate-issues.ts'

const { text, issues } = workerData as { readonly text: string; readonly issues: readonly PolicyIssue[] }
parentPort!.postMessage(locateIssues(text, issues))
