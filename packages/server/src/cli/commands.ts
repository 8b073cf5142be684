import { configOptions, redisOptions, storeOptions, tlsOptions } from '../config/daemon-options.ts'
import type { Command } from './command.ts'
import { policyCommands } from './commands/policy/policy-commands.ts'
import { shipperCommands } from './commands/shipper/shipper-commands.ts'
import { shells } from './completion.ts'
import { frameworks } from './init/frameworks.ts'
import { daemonOptions, requestOptions, ruleOption, targetOptions, topOptions } from './options.ts'

const keyNote =
  'KEY is a full key, service/rule/part/..., as decisions, logs and sluice top show it; with --rule it is only the parts.'
const targetNote =
  'Asks a daemon. With --redis or --policy it works on the store itself, without a daemon: give the same policy the services use.'

/** Every command. Help, completion and corrections all come from this table. */
export const commands: readonly Command[] = [
  {
    name: 'init',
    summary: 'write a commented policy to begin with',
    args: '[FILE]',
    takes: [0, 1],
    options: {
      for: {
        value: 'FRAMEWORK',
        about: 'what enforces it; found in package.json when left out',
        choices: frameworks,
      },
      service: { value: 'NAME', about: 'the service of the policy; the name in package.json when left out' },
      force: { about: 'replace a file that is there' },
    },
    details: ['FILE is sluice.yaml when left out. It also prints the lines that enforce the policy.'],
    examples: ['sluice init', 'sluice init --for fastify --service shop', 'sluice init policy/shop.yaml'],
    run: async (input, terminal) => (await import('./commands/init.ts')).init(input, terminal),
  },
  {
    name: 'serve',
    summary: 'start the daemon: the HTTP API, the Envoy rate-limit service and the page',
    options: configOptions,
    details: [
      'Without any option it keeps counters in memory and enforces sluice.yaml of this folder, else a commented example policy, so that there is something to try. ' +
        'With --redis and --policy it is production.',
      'SIGTERM or SIGINT drains: requests that were accepted are answered, then it ends. A second signal ends it at once. SIGHUP reads certificates and tokens again, which also happens when their files change.',
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
      class: { value: 'NAME', about: 'the class it counts for, where classes share the limit' },
      ...requestOptions,
      ...targetOptions,
    },
    details: [`Decides on a key, or with --path on a request by all rules that match it. ${keyNote}`, targetNote],
    examples: [
      'sluice check example/per-user/42',
      'sluice check 42 --rule per-user --cost 5',
      'sluice check llm-gateway/team-tokens/research --class prod',
      'sluice check -X POST --path /v1/analyze -d \'{"tenant_id":"client-corp","language":"en"}\'',
    ],
    run: async (input, terminal) => (await import('./commands/keys/keys.ts')).check(input, terminal),
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
    run: async (input, terminal) => (await import('./commands/keys/keys.ts')).explain(input, terminal),
  },
  {
    name: 'inspect',
    summary: 'show where every limit of a key stands',
    args: '[SERVICE] KEY',
    takes: [1, 2],
    options: {
      ...ruleOption,
      tier: { value: 'NAME', about: 'the tier of the key, where the policy cannot tell it' },
      ...targetOptions,
    },
    details: [keyNote, targetNote],
    examples: [
      'sluice inspect example/per-user/42',
      'sluice inspect sentiment-service tenant:nike:lang:ja',
      'sluice inspect client-corp/en --rule tenant-language --redis redis://127.0.0.1 --policy sluice.yaml',
    ],
    run: async (input, terminal) => (await import('./commands/keys/keys.ts')).inspect(input, terminal),
  },
  {
    name: 'reset',
    summary: 'forget everything a key has used',
    args: '[SERVICE] KEY',
    takes: [1, 2],
    options: { ...ruleOption, ...targetOptions },
    details: [keyNote, targetNote],
    examples: ['sluice reset example/per-user/42'],
    run: async (input, terminal) => (await import('./commands/keys/keys.ts')).reset(input, terminal),
  },
  {
    name: 'block',
    summary: 'let nothing of a key pass for a while',
    args: '[SERVICE] KEY',
    takes: [1, 2],
    options: {
      for: { value: 'DURATION', about: 'how long, such as 15m' },
      ...ruleOption,
      ...targetOptions,
    },
    details: ['All processes that share the store deny the key meanwhile.', keyNote, targetNote],
    examples: ['sluice block example/per-user/42 --for 15m'],
    run: async (input, terminal) => (await import('./commands/keys/keys.ts')).block(input, terminal),
  },
  {
    name: 'unblock',
    summary: 'end the block of a key',
    args: '[SERVICE] KEY',
    takes: [1, 2],
    options: { ...ruleOption, ...targetOptions },
    details: [keyNote, targetNote],
    examples: ['sluice unblock example/per-user/42'],
    run: async (input, terminal) => (await import('./commands/keys/keys.ts')).unblock(input, terminal),
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
    name: 'tail',
    summary: 'print denials of all processes as they come',
    options: {
      rule: { value: 'NAME', about: 'only those by this rule' },
      key: { value: 'TEXT', about: 'only those whose key contains this text' },
      reason: {
        value: 'REASON',
        about: 'only those for this reason',
        choices: ['quota', 'blocked', 'forbidden', 'missing-key', 'unavailable'],
      },
      last: { value: 'N', about: 'begin with so many that came before', default: '10' },
      count: { value: 'N', about: 'end after so many; without it until interrupted' },
      ...daemonOptions,
    },
    details: [
      'Processes report their last 30 denials every two seconds; of more it prints how many are missing. With --json one object per line.',
    ],
    examples: ['sluice tail', 'sluice tail --rule per-user --key acme', 'sluice tail --json --count 100'],
    run: async (input, terminal) => (await import('./commands/tail.ts')).tail(input, terminal),
  },
  ...policyCommands,
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
      ...redisOptions,
      ...tlsOptions,
      host: { value: 'HOST', env: ['SLUICE_HOST'], about: 'the address to listen on', default: '127.0.0.1' },
      port: { value: 'PORT', env: ['PORT'], about: 'the port to listen on', default: '8460' },
      credential: {
        value: 'UPSTREAM:HEADER=VARIABLE',
        many: true,
        about:
          'send this header with the value of an environment variable or, with =@FILE, of a file; can be given again',
      },
      'max-body': { value: 'BYTES', about: 'the largest body of a request', default: '104857600' },
      drain: { value: 'TIME', about: 'how long accepted calls get to end', default: '30s' },
      replicas: {
        value: 'N',
        env: ['SLUICE_REPLICAS'],
        about: 'how many proxies share limits while Redis is away, where the policy says local; counted when left out',
      },
      'log-level': configOptions['log-level']!,
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
      host: { value: 'HOST', env: ['SLUICE_HOST'], about: 'the address to listen on', default: '127.0.0.1' },
      port: { value: 'PORT', env: ['SLUICE_COLLECT_PORT'], about: 'the port to listen on', default: '8450' },
      path: {
        value: 'PATH',
        about: 'where batches are posted; capacity is asked at PATH/capacity',
        default: '/v1/events',
      },
      redis: { value: 'URL', env: storeOptions.redis!.env!, about: 'remember ids there, for several collectors' },
      ...redisOptions,
      ...tlsOptions,
      'token-file': {
        value: 'FILE',
        env: ['SLUICE_COLLECT_TOKEN_FILE'],
        about: 'a file with the token that senders need, or one "name token" per line',
      },
      service: { value: 'NAME', about: 'with --redis: collectors of one name share ids', default: 'collector' },
      policy: {
        value: 'FILE',
        about: 'a policy: its section capacity has the table, its rules limit batches; changes are followed',
      },
      'log-level': configOptions['log-level']!,
    },
    details: [
      'Answers shippers how much to send by the load of this process, and takes each event in once. With SLUICE_COLLECT_TOKEN set, ' +
        'senders need it as a bearer token. /metrics has its state for Prometheus.',
      'SIGTERM or SIGINT drains: batches that were accepted are answered, then it ends.',
    ],
    examples: [
      'sluice collect --file events.ndjson',
      'sluice collect --forward https://warehouse.example/events --redis redis://127.0.0.1:6379',
    ],
    run: async (input, terminal) => (await import('./commands/daemons/collect.ts')).collectCommand(input, terminal),
  },
  {
    name: 'work',
    summary: 'run pipelines: loads and streams, from documents',
    args: 'FILE...',
    takes: [1, 100],
    options: {
      check: { about: 'check the documents, say so, and end' },
      'dry-run': { about: 'read and take the steps, but neither write nor save anything' },
      redis: { value: 'URL', env: storeOptions.redis!.env!, about: 'the Redis of streams, positions and rates' },
      ...redisOptions,
      policy: { value: 'PLACE', env: storeOptions.policy!.env!, about: 'the policy with the rules of rates' },
      service: { value: 'NAME', about: 'whose positions they are, in Redis', default: 'pipelines' },
      host: { value: 'HOST', env: ['SLUICE_HOST'], about: 'the address to listen on', default: '127.0.0.1' },
      port: { value: 'PORT', env: ['SLUICE_WORK_PORT'], about: 'the port of probes and metrics', default: '8470' },
      drain: { value: 'TIME', about: 'how long what is in hand gets to be written', default: '30s' },
    },
    details: [
      'FILE is YAML or JSON; docs/pipeline.md has the form. Several workers with the same documents share the work. ' +
        'It ends when all loads are done; a stream goes on.',
      'GET /health fails when a partition makes no progress, GET /ready also while it is ending; GET /metrics is for Prometheus, GET /stats for people.',
      'SIGTERM or SIGINT stops reading, writes what is in hand, saves the positions and releases the partitions. A load that was stopped before its end gives 130.',
    ],
    examples: [
      'sluice work load-offers.yaml --policy sluice.yaml --redis redis://127.0.0.1:6379',
      'sluice work load-offers.yaml --check',
    ],
    run: async (input, terminal) => (await import('./commands/daemons/work.ts')).workCommand(input, terminal),
  },
  {
    name: 'doctor',
    summary: 'look at Redis, the policy and the daemon, and say what to mend',
    options: {
      ...targetOptions,
      'redis-prefix': configOptions['redis-prefix']!,
      'accept-eviction': {
        about:
          'accept a Redis that evicts keys or keeps nothing on disk, where counters that start again and caches that fill again are no harm',
      },
    },
    details: [
      'Looks at what --redis, --policy and --url name. Exits with 1 when something should be mended, with 3 when something is out of reach and with 4 when a password or token is wrong.',
    ],
    examples: [
      'sluice doctor --redis redis://127.0.0.1 --policy sluice.yaml',
      'sluice doctor --url http://127.0.0.1:8440',
    ],
    run: async (input, terminal) => (await import('./commands/doctor/doctor.ts')).doctor(input, terminal),
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands and options in your shell',
    args: 'bash|zsh|fish',
    words: shells,
    takes: [1, 1],
    options: {},
    examples: ['source <(sluice completion bash)'],
    run: async (input, terminal) => (await import('./completion.ts')).completion(input, terminal, commands),
  },
]
