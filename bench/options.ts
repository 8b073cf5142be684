import { parseArgs } from 'node:util'

const sections = [
  'redis',
  'memory',
  'postgres',
  'breaker',
  'cache',
  'shipper',
  'capacity',
  'egress',
  'pipeline',
  'policy',
  'http',
  'server',
  'page',
] as const
export type Section = (typeof sections)[number]

export interface BenchOptions {
  readonly sections: readonly Section[]
  readonly rounds: number
  readonly quick: boolean
  /** Only cases with this in their names; `policy`, `server` and `page` always run completely. */
  readonly only: string | undefined
  /** Where to write all figures. */
  readonly json: string | undefined
}

export const usage = `npm run bench -- [${sections.join('] [')}] [all] [--rounds n] [--quick] [--only text] [--json file]
Without a section: redis and memory. --only picks cases of redis, memory, postgres, breaker, cache, shipper, capacity, egress, pipeline and http by their names, such as lease, fastify or "hono, denied".`

/** Reads the command line; throws an error that describes what is wrong with it. */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      quick: { type: 'boolean' },
      only: { type: 'string' },
      json: { type: 'string' },
    },
  })
  const quick = values.quick === true
  const rounds = values.rounds === undefined ? (quick ? 3 : 7) : Number(values.rounds)
  if (!Number.isSafeInteger(rounds) || rounds < 1)
    throw new Error(`--rounds is ${values.rounds}; use a whole number from 1`)
  return { sections: readSections(positionals), rounds, quick, only: values.only, json: values.json }
}

function readSections(names: readonly string[]): readonly Section[] {
  if (names.length === 0) return ['redis', 'memory']
  if (names.includes('all')) return sections
  return names.map((name) => {
    const section = sections.find((known) => known === name)
    if (section === undefined)
      throw new Error(`there is no section ${JSON.stringify(name)}; known are ${sections.join(', ')} and all`)
    return section
  })
}
