import type { OptionTable } from '../config/read-options.ts'
import { type Command, exitCodes } from './command.ts'
import { globalOptions } from './options.ts'
import type { Style } from './terminal/style.ts'
import { columns, pad, wrap } from './terminal/text.ts'

interface Page {
  readonly style: Style
  readonly width: number
}

/** The first page: every command in a line. */
export function overview(commands: readonly Command[], version: string, { style, width }: Page): string {
  const rows = commands.map(({ name, args, summary }) => [`  ${style.accent(name)}${args ? ` ${args}` : ''}`, summary])
  return [
    `${style.strong('sluice')} ${version}: flow control for services. One policy says how much may flow.`,
    '',
    'Usage: sluice COMMAND [options]',
    '',
    style.strong('Commands'),
    ...columns(rows),
    '',
    style.strong('Everywhere'),
    ...optionLines({ ...globalOptions, version: { short: 'v', about: 'print the version' } }, { style, width }),
    '',
    ...exitCodeLines({ style, width }),
    '',
    style.faint('sluice help COMMAND tells all about one. Start with: sluice serve'),
  ].join('\n')
}

/** The page of one command. */
export function commandHelp(command: Command, page: Page): string {
  const { style, width } = page
  const paragraphs = (command.details ?? []).flatMap((text) => ['', ...wrap(text, Math.min(width, 100))])
  const own =
    Object.keys(command.options).length === 0
      ? []
      : ['', style.strong('Options'), ...optionLines(command.options, page)]
  return [
    `${style.strong(`sluice ${command.name}`)}: ${command.summary}`,
    '',
    `Usage: sluice ${command.name}${command.args ? ` ${command.args}` : ''} [options]`,
    ...paragraphs,
    ...own,
    '',
    style.strong('Everywhere'),
    ...optionLines(globalOptions, page),
    '',
    style.strong('Examples'),
    ...command.examples.map((example) => `  ${example}`),
    '',
    style.faint('sluice help lists the exit codes of all commands.'),
  ].join('\n')
}

/** The commands of a group, such as `policy`. */
export function groupHelp(group: string, commands: readonly Command[], { style }: Page): string {
  const rows = commands.map(({ name, args, summary }) => [
    `  ${style.accent(`sluice ${name}`)}${args ? ` ${args}` : ''}`,
    summary,
  ])
  return [
    `${style.strong(`sluice ${group}`)} has these commands:`,
    '',
    ...columns(rows),
    '',
    `see: sluice help ${group} COMMAND`,
  ].join('\n')
}

function optionLines(table: OptionTable, { style, width }: Page): string[] {
  const entries = Object.entries(table).map(([name, spec]) => {
    const short = spec.short === undefined ? '' : `-${spec.short}, `
    const head = `  ${style.accent(`${short}--${name}`)}${spec.value === undefined ? '' : ` ${spec.value}`}`
    const notes = [
      spec.choices === undefined ? '' : `one of ${spec.choices.join(', ')}`,
      (spec.default ?? spec.unset) === undefined ? '' : `default: ${spec.default ?? spec.unset}`,
      spec.env === undefined ? '' : `env: ${spec.env.join(', ')}`,
    ].filter((note) => note !== '')
    return { head, text: notes.length === 0 ? spec.about : `${spec.about} (${notes.join('; ')})` }
  })
  const indent = 30
  return entries.flatMap(({ head, text }) => {
    const lines = wrap(text, Math.max(40, Math.min(width, 120) - indent))
    const first = pad(head, indent, 'left')
    const begun = first.endsWith(' ')
      ? [first + lines[0], ...lines.slice(1).map(indented)]
      : [head, ...lines.map(indented)]
    return begun
  })

  function indented(line: string): string {
    return ' '.repeat(indent) + line
  }
}

function exitCodeLines({ style }: Page): string[] {
  return [
    style.strong('Exit codes'),
    ...Object.entries(exitCodes).map(([code, meaning]) => `  ${code.padStart(3)}  ${meaning}`),
  ]
}
