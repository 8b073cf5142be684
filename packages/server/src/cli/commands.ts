import type { Command } from './command.ts'
import { serveOptions, topOptions } from './command-options.ts'
import { shipperCommands } from './commands/shipper/shipper-commands.ts'
import { daemonOptions, requestOptions, ruleOption, storeOptions, targetOptions } from './options.ts'

const keyNote =
  'KEY is a full key, service/rule/part/..., as decisions, logs and sluice top show it; with --rule it is only the parts.'
const targetNote =
  'Asks a daemon. With --redis or --policy it works on the store itself, without a daemon: give the same policy the services use.'

/** Every command. Help, completion and corrections all come from this table. */
export const commands: readonly Command[] = [
  {
    name: 'serve',
    summary: 'start the daemon: the HTTP API, the Envoy rate-limit service and the page',
    options: serveOptions,
    details: [
      'Without any option it keeps counters in memory and enforces a commented example policy, so that there is something to try. ' +
        'With --redis and --policy it is production.',
      'SIGTERM or SIGINT drains: requests that were accepted are answered, then it ends. A second signal ends it at once.',
    ],
    examples: [
      'sluice serve',
      'sluice serve --redis redis://127.0.0.1:6379 --policy sluice.yaml',
      'sluice serve --policy sluice.yaml --validate',
    ],
    run: async (input, terminal) => (await import('./commands/daemons/serve.ts')).serveCommand(input, terminal),
  },
  {
    name: 'check',
    summary: 'ask for a decision, and spend',
    args: '[KEY]',
    takes: [0, 1],
    options: {
      ...ruleOption,
      cost: { value: 'UNITS', about: 'units to spend', default: '1' },
      tier: { value: 'NAME', about: 'the tier of the key, where the policy cannot tell it' },
      ...requestOptions,
      ...targetOptions,
    },
    details: [`Decides on a key, or with --path on a request by all rules that match it. ${keyNote}`, targetNote],
    examples: [
      'sluice check example/per-user/42',
      'sluice check 42 --rule per-user --cost 5',
      'sluice check -X POST --path /v1/analyze -d \'{"tenant_id":"client-corp","language":"en"}\'',
    ],
    run: async (input, terminal) => (await import('./commands/keys/check.ts')).check(input, terminal),
  },
  {
    name: 'explain',
    summary: 'tell which rules apply to a request and why, without spending',
    options: { ...requestOptions, ...targetOptions },
    details: [`Exits with 1 when the request would be denied now. ${targetNote}`],
    examples: [
      'sluice explain -X POST --path /v1/analyze -H "x-api-key: k1" --ip 192.0.2.7',
      'sluice explain --path /prices --policy sluice.yaml',
    ],
    run: async (input, terminal) => (await import('./commands/keys/explain.ts')).explain(input, terminal),
  },
  {
    name: 'inspect',
    summary: 'show where every limit of a key stands',
    args: 'KEY',
    takes: [1, 1],
    options: { ...ruleOption, ...targetOptions },
    details: [keyNote, targetNote],
    examples: [
      'sluice inspect example/per-user/42',
      'sluice inspect client-corp/en --rule tenant-language --redis redis://127.0.0.1 --policy sluice.yaml',
    ],
    run: async (input, terminal) => (await import('./commands/keys/inspect.ts')).inspect(input, terminal),
  },
  {
    name: 'reset',
    summary: 'forget everything a key has used',
    args: 'KEY',
    takes: [1, 1],
    options: { ...ruleOption, ...targetOptions },
    details: [keyNote, targetNote],
    examples: ['sluice reset example/per-user/42'],
    run: async (input, terminal) => (await import('./commands/keys/reset.ts')).reset(input, terminal),
  },
  {
    name: 'top',
    summary: 'watch the hottest and the most denied keys of a daemon',
    options: { ...topOptions, ...daemonOptions },
    details: ['On a terminal it redraws; q quits, p pauses, d and u choose the order. Elsewhere it prints lines.'],
    examples: ['sluice top', 'sluice top --interval 5 --count 3 --json'],
    run: async (input, terminal) => (await import('./commands/top.ts')).top(input, terminal),
  },
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
    run: async (input, terminal) =>
      (await import('./commands/policy/policy-validate.ts')).policyValidate(input, terminal),
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
    run: async (input, terminal) => (await import('./commands/policy/policy-diff.ts')).policyDiff(input, terminal),
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
    run: async (input, terminal) => (await import('./commands/policy/policy-push.ts')).policyPush(input, terminal),
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
    run: async (input, terminal) =>
      (await import('./commands/policy/policy-history.ts')).policyHistory(input, terminal),
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
    run: async (input, terminal) =>
      (await import('./commands/policy/policy-rollback.ts')).policyRollback(input, terminal),
  },
  {
    name: 'policy import',
    summary: 'turn an Envoy ratelimit configuration into a policy',
    args: 'envoy FILE...',
    takes: [2, 1000],
    options: {
      out: { value: 'FILE', short: 'o', about: 'where to write the policy; standard output when left out' },
      service: { value: 'NAME', about: 'the service of the policy', default: 'the first domain' },
    },
    examples: ['sluice policy import envoy ratelimit.yaml -o sluice.yaml'],
    run: async (input, terminal) => (await import('./commands/policy/policy-import.ts')).policyImport(input, terminal),
  },
  ...shipperCommands,
  {
    name: 'proxy',
    summary: 'serve the upstreams of a policy as a reverse proxy that holds their limits',
    options: {
      policy: {
        value: 'PLACE',
        env: storeOptions.policy!.env!,
        about: 'the policy with the upstreams',
        default: 'sluice.yaml',
      },
      redis: { value: 'URL', env: storeOptions.redis!.env!, about: 'share the limits with other replicas through it' },
      host: { value: 'HOST', about: 'the address to listen on', default: '127.0.0.1' },
      port: { value: 'PORT', env: ['PORT'], about: 'the port to listen on', default: '8460' },
      credential: {
        value: 'UPSTREAM:HEADER=VARIABLE',
        many: true,
        about: 'send this header with the value of an environment variable; can be given again',
      },
      'max-body': { value: 'BYTES', about: 'the largest body of a request', default: '104857600' },
      drain: { value: 'TIME', about: 'how long accepted calls get to end', default: '30s' },
      replicas: {
        value: 'N',
        env: ['SLUICE_REPLICAS'],
        about: 'how many proxies share limits while Redis is away, where the policy says local; counted when left out',
      },
      'log-level': { value: 'LEVEL', about: 'trace, debug, info, warn, error or silent', default: 'info' },
    },
    details: [
      'The first path segment names the upstream; where there is only one, it may be left out. Calls wait first in, first out for a grant, ' +
        "at most the upstream's maxWait. A caller's own timeout must exceed maxWait and timeout together.",
      'With INTERNAL_SERVICE_TOKEN set, callers need it as x-internal-token; INTERNAL_SERVICE_TOKEN_NEXT is valid beside it. ' +
        'GET /health and GET /ready are answered by the proxy itself.',
      'SIGTERM or SIGINT drains: calls that were accepted are answered, new ones are refused with 503.',
    ],
    examples: [
      'sluice proxy --policy sluice.yaml --redis redis://127.0.0.1:6379',
      'sluice proxy --credential vendor:authorization=VENDOR_AUTHORIZATION',
    ],
    run: async (input, terminal) => (await import('./commands/daemons/proxy.ts')).proxyCommand(input, terminal),
  },
  {
    name: 'collect',
    summary: 'take in the events of shippers: capacity, deduplication, a file or another server',
    options: {
      file: { value: 'FILE', about: 'append events to this file, one JSON line each', default: 'events.ndjson' },
      forward: { value: 'URL', about: 'post events to this server instead' },
      host: { value: 'HOST', about: 'the address to listen on', default: '127.0.0.1' },
      port: { value: 'PORT', env: ['SLUICE_COLLECT_PORT'], about: 'the port to listen on', default: '8450' },
      path: {
        value: 'PATH',
        about: 'where batches are posted; capacity is asked at PATH/capacity',
        default: '/v1/events',
      },
      redis: { value: 'URL', env: storeOptions.redis!.env!, about: 'remember ids there, for several collectors' },
      service: { value: 'NAME', about: 'with --redis: collectors of one name share ids', default: 'collector' },
      policy: { value: 'FILE', about: 'a policy whose section capacity has the table; changes are followed' },
    },
    details: [
      'Answers shippers how much to send by the load of this process, and takes each event in once. With SLUICE_COLLECT_TOKEN set, ' +
        'senders need it as a bearer token.',
      'SIGTERM or SIGINT drains: batches that were accepted are answered, then it ends.',
    ],
    examples: [
      'sluice collect --file events.ndjson',
      'sluice collect --forward https://warehouse.example/events --redis redis://127.0.0.1:6379',
    ],
    run: async (input, terminal) => (await import('./commands/daemons/collect.ts')).collectCommand(input, terminal),
  },
  {
    name: 'doctor',
    summary: 'look at Redis, the policy and the daemon, and say what to mend',
    options: { ...targetOptions, 'redis-prefix': serveOptions['redis-prefix']! },
    details: [
      'Looks at what --redis, --policy and --url name. Exits with 1 when something should be mended, with 3 when something is out of reach and with 4 when a password or token is wrong.',
    ],
    examples: [
      'sluice doctor --redis redis://127.0.0.1 --policy sluice.yaml',
      'sluice doctor --url http://127.0.0.1:8440',
    ],
    run: async (input, terminal) => (await import('./commands/doctor.ts')).doctor(input, terminal),
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands and options in your shell',
    args: 'bash|zsh|fish',
    takes: [1, 1],
    options: {},
    examples: ['source <(sluice completion bash)'],
    run: async (input, terminal) => (await import('./commands/completion.ts')).completion(input, terminal, commands),
  },
]
