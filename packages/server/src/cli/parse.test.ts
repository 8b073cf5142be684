import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { configOptions } from '../config/daemon-options.ts'
import type { Command } from './command.ts'
import { commands } from './commands.ts'
import { completionScript } from './completion.ts'
import { commandHelp, overview } from './help.ts'
import { parseInput } from './parse.ts'
import { styleFor } from './terminal/style.ts'

const page = { style: styleFor(false), width: 100 }
const command: Command = {
  name: 'try',
  summary: 'try it',
  args: '[KEY]',
  takes: [0, 1],
  options: {
    cost: { value: 'UNITS', about: 'units', env: ['TRY_COST', 'COST'] },
    header: { value: 'LINE', short: 'H', many: true, about: 'headers' },
    sort: { value: 'BY', about: 'order', choices: ['used', 'denied'] },
    dry: { about: 'do nothing' },
  },
  examples: [],
  run: async () => 0,
}
const parse = (argv: string[], env: Record<string, string> = {}) => parseInput(command, argv, env)

describe('what is given to a command', () => {
  it.each(['redis', 'policy'])('says by the same variables in every command where --%s is', (option) => {
    const reading = commands.flatMap(({ name, options }) => (options[option]?.env ? [[name, options[option].env]] : []))
    expect(reading).toEqual(reading.map(([name]) => [name, configOptions[option]!.env]))
    expect(reading.map(([name]) => name)).toEqual(expect.arrayContaining(['serve', 'proxy']))
  })

  it('is read from options in any order, with short names and with =', () => {
    const input = parse(['-H', 'a: 1', 'key', '--cost=5', '-H', 'b: 2', '--dry', '--sort', 'used'])
    expect(input.args).toEqual(['key'])
    expect(input.many('header')).toEqual(['a: 1', 'b: 2'])
    expect(input.whole('cost', 0)).toBe(5)
    expect(input.flag('dry')).toBe(true)
    expect(input.text('sort')).toBe('used')
  })

  it('is read from the environment when no option says it, and what was typed is told apart', () => {
    expect(parse([], { COST: '3' }).whole('cost', 0)).toBe(3)
    expect(parse(['--cost', '4'], { COST: '3' }).whole('cost', 0)).toBe(4)
    expect(parse([], { TRY_COST: '', COST: '3' }).whole('cost', 0)).toBe(3)
    expect(parse([], { COST: '3' }).given('cost')).toBe(false)
  })

  it.each([
    [['--csot', '1'], 'try has no option --csot; did you mean --cost?'],
    [['-x'], 'try has no option -x'],
    [['--cost'], '--cost needs a value: --cost UNITS'],
    [['--cost', '1', '--cost', '2'], '--cost is given twice; keep one of them'],
    [['--dry=yes'], '--dry is a switch and takes no value'],
    [['--sort', 'use'], '--sort is "use"; use one of used, denied (did you mean used?)'],
    [['a', 'b'], '"b" is one argument too many'],
  ])('that is wrong is told with what would be right: %j', (argv, message) => {
    expect(() => parse(argv)).toThrow(message)
  })

  it('is a time with a unit, or in milliseconds, by flag and by variable', () => {
    const read = (text: string) => parse([], { COST: text }).duration('cost', 1, 60_000)
    expect([read('5s'), read('500ms'), read('250'), read('0.5s'), read('1m')]).toEqual([5000, 500, 250, 500, 60_000])
    expect(parse(['--cost', '2s']).duration('cost', 1)).toBe(2000)
    for (const wrong of ['5x', '-1s', '2m', '1.5', 'soon'])
      expect(() => read(wrong)).toThrow(`COST is "${wrong}"; use a time such as 500ms or 5s, from 1 to 60000 ms`)
  })

  it('is not taken from what Kubernetes sets for a service of that name', () => {
    expect(parse([], { TRY_COST: 'tcp://10.0.0.1:80', COST: '3' }).whole('cost', 0)).toBe(3)
  })

  it('must be a whole number where one is wanted', () => {
    for (const wrong of ['-1', '1.5', 'NaN', '1e3', ''])
      expect(() => parse([`--cost=${wrong}`]).whole('cost', 0)).toThrow('--cost')
    expect(() => parse(['--cost', '0']).whole('cost', 1)).toThrow('use a whole number from 1')
  })
})

describe('the table of commands', () => {
  it('has every option of the daemon, each explained', () => {
    expect(commands.find(({ name }) => name === 'serve')!.options).toEqual(configOptions)
    for (const { about } of Object.values(configOptions)) expect(about).not.toBe('')
  })

  it('gives help that names every command, and every option of each', () => {
    const first = overview(commands, '1.0.0', page)
    for (const each of commands) {
      expect(first).toContain(`  ${each.name}`)
      const text = commandHelp(each, page)
      for (const option of Object.keys(each.options)) expect(text).toContain(`--${option}`)
      // They are the same for all commands, and stand in the overview once.
      expect(text).not.toContain('Exit codes')
      for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(160)
    }
  })

  it.each(['bash', 'zsh', 'fish'])('completes commands and options in %s', (shell) => {
    const script = completionScript(shell, commands)
    for (const word of ['serve', 'validate', 'rollback', 'doctor', 'grpc-port', 'token-file'])
      expect(script).toContain(word)
  })

  it.each([
    ['shipper verify --re', '--repair'],
    ['shipper re', 'rejected'],
    ['policy o', 'override'],
    ['policy override --rp', '--rps --rpm --rph --rpd'],
    ['policy import e', 'envoy'],
    ['tail --re', '--reason'],
    ['init --for f', 'fastify fetch'],
    ['work --dr', '--dry-run --drain'],
    ['help shipper v', 'verify'],
    ['help wo', 'work'],
    ['completion z', 'zsh'],
    ['serve --log-level w', 'warn'],
  ])('completes sluice %s in bash', (line, words) => {
    const typed = `COMP_WORDS=(sluice ${line}); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))`
    const script = `${completionScript('bash', commands)}\n${typed}; _sluice; echo "\${COMPREPLY[@]}"`
    expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim()).toBe(words)
  })
})
