import type { OptionTable } from '../../../config/read-options.ts'
import type { Command } from '../../command.ts'

const dirOption: OptionTable = {
  dir: { value: 'DIR', env: ['SLUICE_SHIPPER_DIR'], about: 'the directory of the buffer', default: 'buffer' },
}
const resetOption: OptionTable = {
  reset: { about: 'forget level, failures and the next attempt, so that the next flush tries at once' },
}
const endpointOptions: OptionTable = {
  endpoint: { value: 'URL', env: ['SLUICE_SHIPPER_ENDPOINT'], about: 'where batches are posted' },
  'capacity-endpoint': { value: 'URL', about: 'where capacity is asked', default: 'the endpoint and /capacity' },
  header: { value: 'NAME:VALUE', short: 'H', many: true, about: 'a header of every request; can be given again' },
  timeout: { value: 'TIME', about: 'how long a request may take', default: '30s' },
}

const chooseOptions: OptionTable = {
  id: { value: 'ID', many: true, about: 'the event with this id; can be given again' },
  reason: { value: 'TEXT', about: 'events whose reason contains this text' },
}

const status: Omit<Command, 'name' | 'summary' | 'examples'> = {
  options: { ...dirOption, ...resetOption },
  details: ['Only looks: it can be used while a shipper works on the buffer.'],
  run: async (input, terminal) => (await import('./shipper-status.ts')).shipperStatus(input, terminal),
}

/** The commands on the buffer of a shipper. */
export const shipperCommands: readonly Command[] = [
  {
    ...status,
    name: 'shipper status',
    summary: 'show what waits in a buffer, and when the server is asked next',
    examples: ['sluice shipper status --dir buffer', 'sluice shipper status --reset'],
  },
  {
    ...status,
    name: 'backpressure',
    summary: 'the same as shipper status',
    examples: ['sluice backpressure', 'sluice backpressure --reset=true'],
  },
  {
    name: 'shipper flush',
    summary: 'send what waits, if the server is ready and an attempt is due',
    options: { ...dirOption, ...endpointOptions },
    details: [
      'Does nothing while another process owns the buffer: that one sends. Ctrl-C ends after the batch in flight.',
    ],
    examples: [
      'sluice shipper flush --dir buffer --endpoint https://collector.example/v1/events',
      'sluice shipper flush -H "authorization: Bearer $TOKEN"',
    ],
    run: async (input, terminal) => (await import('./shipper-flush.ts')).shipperFlush(input, terminal),
  },
  {
    name: 'shipper append',
    summary: 'store events from standard input, one JSON value per line',
    options: dirOption,
    details: ['Ends when all are on the disk. A service that owns the buffer sends them, or the next flush does.'],
    examples: ['echo \'{"type":"tool-call"}\' | sluice shipper append --dir buffer'],
    run: async (input, terminal) => (await import('./shipper-append.ts')).shipperAppend(input, terminal),
  },
  {
    name: 'shipper verify',
    summary: 'check every record of a buffer; with --repair set damage aside',
    options: {
      ...dirOption,
      repair: { about: 'write damaged segments anew with what is good in them, and keep the rest aside' },
    },
    details: [
      'Without --repair it only looks. A shipper skips damage by itself; --repair is for knowing at once. Stop the shipper first.',
    ],
    examples: ['sluice shipper verify --dir buffer', 'sluice shipper verify --repair'],
    run: async (input, terminal) => (await import('./shipper-verify.ts')).shipperVerify(input, terminal),
  },
  {
    name: 'shipper rejected',
    summary: 'show the events that the server refused for good, send them again, or remove them',
    options: {
      ...dirOption,
      ...chooseOptions,
      data: { about: 'print the whole events, one JSON object per line' },
      limit: { value: 'N', about: 'print so many at most', default: '50' },
      resend: { about: 'send them again, under the ids that they had; what the server takes is no longer kept' },
      drop: { about: 'remove them for good' },
      all: { about: 'with --resend and --drop: all rejected events' },
      ...endpointOptions,
    },
    details: ['--resend and --drop need --id, --reason or --all. Can be used while a shipper works on the buffer.'],
    examples: [
      'sluice shipper rejected --dir buffer',
      'sluice shipper rejected --reason "unknown field" --data',
      'sluice shipper rejected --resend --all --endpoint https://collector.example/v1/events',
      'sluice shipper rejected --drop --reason "too old"',
    ],
    run: async (input, terminal) => (await import('./shipper-rejected.ts')).shipperRejected(input, terminal),
  },
]
