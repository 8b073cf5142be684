import type { Command } from '../../command.ts'
import type { OptionTable } from '../../option-table.ts'

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
  timeout: { value: 'MS', about: 'how long a request may take', default: '30000' },
}

const chooseOptions: OptionTable = {
  id: { value: 'ID', many: true, about: 'the event with this id; can be given again' },
  reason: { value: 'TEXT', about: 'events whose reason contains this text' },
}
const allOption: OptionTable = { all: { about: 'all rejected events' } }

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
    name: 'shipper inspect',
    summary: 'list the segments of a buffer, or the events that wait in it',
    options: {
      ...dirOption,
      events: { about: 'print the events that wait, one JSON object per line' },
      limit: { value: 'N', about: 'print so many events at most' },
    },
    examples: ['sluice shipper inspect --dir buffer', 'sluice shipper inspect --events --limit 10'],
    run: async (input, terminal) => (await import('./shipper-inspect.ts')).shipperInspect(input, terminal),
  },
  {
    name: 'shipper rejected',
    summary: 'show the events that the server refused for good, and why',
    options: {
      ...dirOption,
      ...chooseOptions,
      data: { about: 'print the whole events, one JSON object per line' },
      limit: { value: 'N', about: 'print so many at most', default: '50' },
    },
    examples: ['sluice shipper rejected --dir buffer', 'sluice shipper rejected --reason "unknown field" --data'],
    run: async (input, terminal) => (await import('./shipper-rejected.ts')).shipperRejected(input, terminal),
  },
  {
    name: 'shipper resend',
    summary: 'send rejected events again, under the ids that they had',
    options: { ...dirOption, ...endpointOptions, ...chooseOptions, ...allOption },
    details: ['What the server takes is no longer kept. Can be used while a shipper works on the buffer.'],
    examples: [
      'sluice shipper resend --all --endpoint https://collector.example/v1/events',
      'sluice shipper resend --reason "unknown field"',
    ],
    run: async (input, terminal) => (await import('./shipper-resend.ts')).shipperResend(input, terminal),
  },
  {
    name: 'shipper drop',
    summary: 'remove rejected events for good',
    options: { ...dirOption, ...chooseOptions, ...allOption },
    details: ['Look first: sluice shipper rejected takes the same --id and --reason.'],
    examples: ['sluice shipper drop --reason "too old"', 'sluice shipper drop --all'],
    run: async (input, terminal) => (await import('./shipper-drop.ts')).shipperDrop(input, terminal),
  },
  {
    name: 'shipper verify',
    summary: 'check every record of a buffer; changes nothing',
    options: dirOption,
    examples: ['sluice shipper verify --dir buffer'],
    run: async (input, terminal) => (await import('./shipper-verify.ts')).shipperVerify(input, terminal),
  },
  {
    name: 'shipper repair',
    summary: 'write damaged segments anew with what is good in them, and keep the rest aside',
    options: dirOption,
    details: ['A shipper skips damage by itself; this is for knowing at once. Stop the shipper first.'],
    examples: ['sluice shipper repair --dir buffer'],
    run: async (input, terminal) => (await import('./shipper-repair.ts')).shipperRepair(input, terminal),
  },
]
