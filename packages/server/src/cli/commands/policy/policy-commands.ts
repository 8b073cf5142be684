import { storeOptions } from '../../../config/daemon-options.ts'
import type { Command } from '../../command.ts'
import { daemonOptions, overrideLimits, ruleOption } from '../../options.ts'

/** The commands on policies. */
export const policyCommands: readonly Command[] = [
  {
    name: 'policy validate',
    summary: 'check a policy; every mistake is named with its place',
    args: '[SOURCE]',
    takes: [0, 1],
    options: { policy: storeOptions.policy! },
    details: [
      'SOURCE is a file, - for standard input, or mongodb://, postgres:// or redis://; sluice.yaml when left out.',
    ],
    examples: ['sluice policy validate sluice.yaml', 'sluice policy validate postgres://localhost/app?service=shop'],
    run: async (input, terminal) => (await import('./policy-validate.ts')).policyValidate(input, terminal),
  },
  {
    name: 'policy diff',
    summary: 'show what a policy would change, rule by rule',
    args: '[OLD] NEW',
    takes: [1, 2],
    options: { ...daemonOptions },
    details: [
      'OLD and NEW are sources, as in policy validate. Without OLD, NEW is compared with what the daemon enforces. Exits with 1 when they differ.',
    ],
    examples: ['sluice policy diff sluice.yaml', 'sluice policy diff sluice.yaml next.yaml'],
    run: async (input, terminal) => (await import('./change.ts')).policyDiff(input, terminal),
  },
  {
    name: 'policy try',
    summary: 'show whom a policy would have denied, of the last requests of a daemon',
    args: '[SOURCE]',
    takes: [0, 1],
    options: { policy: storeOptions.policy!, ...daemonOptions },
    details: [
      'SOURCE is as in policy validate. The daemon replays the last 10,000 requests that it decided on, through SOURCE and through the policy that runs, both with empty counters. Nothing is spent and nothing changes. Exits with 1 when SOURCE would have denied others than the policy that runs.',
    ],
    examples: ['sluice policy try next.yaml', 'sed s/100/50/ sluice.yaml | sluice policy try -'],
    run: async (input, terminal) => (await import('./policy-try.ts')).policyTry(input, terminal),
  },
  {
    name: 'policy override',
    summary: 'give one key other limits for a while, or end that',
    args: 'KEY',
    takes: [1, 1],
    options: {
      ...ruleOption,
      ...overrideLimits,
      limits: {
        value: 'JSON',
        about: 'limits as in a policy: unlimited, deny, or such as \'{"amount":5,"per":"10m"}\'',
      },
      for: { value: 'TIME', about: 'how long they are in force: 30m, 4h, 7d' },
      remove: { about: 'remove the override of the key instead' },
      policy: storeOptions.policy!,
      ...daemonOptions,
    },
    details: [
      'KEY is a full key, service/rule/part/..., or with --rule only the parts. The policy is pushed with the override, to the source --policy names, else through the daemon; comments of a file stay.',
    ],
    examples: [
      'sluice policy override shop/per-tenant/acme --rpm 500 --for 1h',
      'sluice policy override acme --rule per-tenant --limits unlimited --for 7d',
      'sluice policy override shop/per-tenant/acme --remove',
    ],
    run: async (input, terminal) => (await import('./policy-override.ts')).policyOverride(input, terminal),
  },
  {
    name: 'policy push',
    summary: 'put a policy in force for every replica',
    args: 'FILE',
    takes: [1, 1],
    options: {
      'dry-run': { about: 'check it and show what would change, and leave it at that' },
      policy: storeOptions.policy!,
      ...daemonOptions,
    },
    details: ['Pushes to the source --policy names, else through the daemon. A policy with mistakes is refused whole.'],
    examples: [
      'sluice policy push sluice.yaml',
      'sluice policy push sluice.yaml --policy redis://127.0.0.1/?key=sluice:policy:shop',
    ],
    run: async (input, terminal) => (await import('./change.ts')).policyPush(input, terminal),
  },
  {
    name: 'policy history',
    summary: 'list the versions a policy had',
    options: {
      limit: { value: 'N', about: 'how many, newest first', default: '20' },
      policy: storeOptions.policy!,
      ...daemonOptions,
    },
    examples: ['sluice policy history', 'sluice policy history --policy sluice.yaml'],
    run: async (input, terminal) => (await import('./policy-history.ts')).policyHistory(input, terminal),
  },
  {
    name: 'policy rollback',
    summary: 'put a former version in force again',
    args: '[REVISION]',
    takes: [0, 1],
    options: {
      'dry-run': { about: 'show what would change, and leave it at that' },
      policy: storeOptions.policy!,
      ...daemonOptions,
    },
    details: ['Without REVISION it is the version before the newest. The rolled-back policy becomes a new revision.'],
    examples: ['sluice policy rollback', 'sluice policy rollback 3 --policy sluice.yaml'],
    run: async (input, terminal) => (await import('./change.ts')).policyRollback(input, terminal),
  },
  {
    name: 'policy import',
    summary: 'turn an Envoy ratelimit configuration into a policy',
    args: 'envoy FILE...',
    words: ['envoy'],
    takes: [2, 1000],
    options: {
      out: { value: 'FILE', short: 'o', about: 'where to write the policy; standard output when left out' },
      service: { value: 'NAME', about: 'the service of the policy', default: 'the first domain' },
    },
    examples: ['sluice policy import envoy ratelimit.yaml -o sluice.yaml'],
    run: async (input, terminal) => (await import('./policy-import.ts')).policyImport(input, terminal),
  },
]
