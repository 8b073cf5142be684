import type { PolicyError } from 'sluice'
import { nearestWord } from 'sluice/internal'
import { version } from '../version.ts'
import { CliError, toCliError, wrongUse } from './cli-error.ts'
import type { Command, ExitCode, Terminal } from './command.ts'
import { commands } from './commands.ts'
import { commandHelp, groupHelp, overview } from './help.ts'
import { parseInput } from './parse.ts'
import { styleFor, wantsColour } from './terminal/style.ts'
import { safe, safeJson, safeLine } from './terminal/text.ts'

/** Runs the command line; resolves with the code the process should end with. */
export async function main(argv: readonly string[]): Promise<ExitCode> {
  const colour = argv.includes('--no-color') ? false : argv.includes('--color') ? true : undefined
  const terminal = processTerminal({ json: argv.includes('--json') || argv.includes('--json=true'), colour })
  try {
    return await dispatch(argv, terminal)
  } catch (thrown) {
    return failed(toCliError(thrown), terminal)
  }
}

async function dispatch(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  // Switches that every command has may also stand before it.
  const first = argv.findIndex((word) => !['--json', '--color', '--no-color'].includes(word))
  const words = first < 0 ? [] : [...argv.slice(first), ...argv.slice(0, first)]
  const [word] = words
  if (word === undefined || word === '--help' || word === '-h') return help([], terminal)
  if (word === '--version' || word === '-v' || word === 'version') {
    terminal.result({ version }, () => terminal.line(version))
    return 0
  }
  if (word === 'help') return help(words.slice(1), terminal)
  if (words[1] === '--help' || words[1] === '-h') return help([word], terminal)
  const { command, rest } = findCommand(words)
  if (rest.includes('--help') || rest.includes('-h')) return help(command.name.split(' '), terminal)
  return command.run(parseInput(command, rest, terminal.env), terminal)
}

function help(words: readonly string[], terminal: Terminal): ExitCode {
  const page = { style: terminal.style, width: terminal.columns }
  const named = words.filter((word) => !word.startsWith('-'))
  const group = commands.filter(({ name }) => name.startsWith(`${named[0]} `))
  const [first = ''] = named
  if (named.length === 0) terminal.line(overview(commands, version, page))
  else if (named.length === 1 && group.length > 0) terminal.line(groupHelp(first, group, page))
  else terminal.line(commandHelp(findCommand(named).command, page))
  return 0
}

function findCommand(words: readonly string[]): { command: Command; rest: readonly string[] } {
  const [first = '', second = ''] = words
  const exact = commands.find(({ name }) => name === first)
  if (exact !== undefined) return { command: exact, rest: words.slice(1) }
  const group = commands.filter(({ name }) => name.startsWith(`${first} `))
  if (group.length === 0)
    throw wrongUse(`there is no command ${JSON.stringify(first)}${suggest(first, firstWords())}`, 'see: sluice help')
  const ofGroup = group.find(({ name }) => name === `${first} ${second}`)
  if (ofGroup !== undefined) return { command: ofGroup, rest: words.slice(2) }
  const known = group.map(({ name }) => name.slice(first.length + 1))
  if (second === '' || second.startsWith('-'))
    throw wrongUse(`sluice ${first} needs one of ${known.join(', ')}`, `see: sluice help ${first}`)
  throw wrongUse(
    `sluice ${first} has ${known.join(', ')} and no ${JSON.stringify(second)}${suggest(second, known)}`,
    `see: sluice help ${first}`,
  )
}

function suggest(word: string, known: readonly string[]): string {
  const near = nearestWord(word, known)
  return near === undefined ? '' : `; did you mean ${near}?`
}

function firstWords(): string[] {
  return [...new Set([...commands.map(({ name }) => name.split(' ')[0] ?? ''), 'help', 'version'])]
}

function failed(error: CliError, terminal: Terminal): ExitCode {
  const { exitCode, code, hint } = error
  // Messages of the library name options in code; here options are flags and variables.
  const message = error.message.replace(/\{ rule: "([^"]+)" \}/g, '--rule $1')
  const { cause } = error
  const found = (cause as Partial<PolicyError> | undefined)?.issues
  const issues = found === undefined ? {} : { issues: found.map(({ path, message }) => ({ path, message })) }
  if (terminal.json)
    terminal.line(safeJson({ error: { code, message, ...(hint === undefined ? {} : { hint }), ...issues, exitCode } }))
  else {
    // Only lists of mistakes have lines of their own.
    const lines = 'issues' in issues ? message.split('\n') : [message]
    terminal.note(`${terminal.style.bad('sluice:')} ${lines.map(safe).join('\n')}`)
    if (hint !== undefined) terminal.note(terminal.style.faint(safe(hint)))
    if (exitCode === 70) terminal.note(error.cause instanceof Error ? (error.cause.stack ?? '') : '')
  }
  return exitCode
}

/** The terminal of this process. */
function processTerminal(options: { json: boolean; colour: boolean | undefined }): Terminal {
  const { stdout, stderr, env } = process
  const write = (text: string): void => {
    stdout.write(text)
  }
  const line = (text = ''): void => write(`${safeLine(text)}\n`)
  return {
    style: styleFor(!options.json && wantsColour(options.colour, stdout.isTTY === true, env)),
    json: options.json,
    live: stdout.isTTY === true && env.TERM !== 'dumb' && !options.json,
    liveProgress: stderr.isTTY === true && env.TERM !== 'dumb',
    get columns() {
      return stdout.columns ?? 100
    },
    get rows() {
      return stdout.rows ?? 40
    },
    env,
    line,
    lines(texts, indent = '') {
      for (const text of texts) line(indent + text)
    },
    write,
    note: (text) => void stderr.write(`${safeLine(text)}\n`),
    noteRaw: (text) => void stderr.write(text),
    result(value, human) {
      if (options.json) line(safeJson(value, finite))
      else human()
    },
  }
}

/** JSON has no infinity: what never comes is null. */
function finite(_: string, value: unknown): unknown {
  if (value instanceof Error) return value.message
  return typeof value === 'number' && !Number.isFinite(value) ? null : value
}
