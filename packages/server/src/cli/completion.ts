import { nearestWord } from 'sluice/internal'
import { wrongUse } from './cli-error.ts'
import type { Command, ExitCode, Input, Terminal } from './command.ts'
import { globalOptions } from './options.ts'

export const shells: readonly string[] = ['bash', 'zsh', 'fish']

/** A script that completes commands, their first arguments, the names of options and their choices in a shell. */
export function completionScript(shell: string, commands: readonly Command[]): string {
  if (shell === 'fish') return fish(commands)
  const script = bash(commands)
  return shell === 'zsh' ? `autoload -U +X bashcompinit && bashcompinit\n${script}` : script
}

const optionsOf = (command: Command): string[] =>
  [...Object.keys(command.options), ...Object.keys(globalOptions)].map((name) => `--${name}`)

/** What can stand after `sluice`, after `sluice GROUP`, and after commands whose first argument is one of few. */
function words(commands: readonly Command[]): Map<string, readonly string[]> {
  const after = new Map<string, string[]>([['', []]])
  const firsts = after.get('')!
  for (const { name, words: own } of commands) {
    const [first = '', second] = name.split(' ')
    if (!firsts.includes(first)) firsts.push(first)
    if (second !== undefined) after.set(first, [...(after.get(first) ?? []), second])
    if (own !== undefined) after.set(name, [...own])
  }
  return after.set('help', [...firsts]).set('', [...firsts, 'help'])
}

const groupsOf = (commands: readonly Command[]): string[] => [
  ...new Set(commands.flatMap(({ name }) => (name.includes(' ') ? [name.split(' ')[0]!] : []))),
]

function bash(commands: readonly Command[]): string {
  const groups = groupsOf(commands)
  const following = [...words(commands)].map(([before, next]) => `    "${before}") words="${next.join(' ')}" ;;`)
  const helped = groups.map((group) => `    "help ${group}") words="${words(commands).get(group)!.join(' ')}" ;;`)
  const cases = commands.map((command) => `    "${command.name}") options="${optionsOf(command).join(' ')}" ;;`)
  const choices = commands.flatMap(({ name, options }) =>
    Object.entries(options).flatMap(([option, spec]) =>
      spec.choices === undefined ? [] : [`    "${name} --${option}") words="${spec.choices.join(' ')}" ;;`],
    ),
  )
  return `# sluice completion; add to your shell: source <(sluice completion bash)
_sluice() {
  local word="\${COMP_WORDS[COMP_CWORD]}" last="\${COMP_WORDS[COMP_CWORD-1]}" first="\${COMP_WORDS[1]}" words="" options=""
  local before="\${COMP_WORDS[*]:1:COMP_CWORD-1}"
  case "$before" in
${[...following, ...helped].join('\n')}
  esac
  case "$first" in
    ${groups.join('|')}) first="$first \${COMP_WORDS[2]}" ;;
  esac
  case "$first" in
${cases.join('\n')}
  esac
  case "$first $last" in
${choices.join('\n')}
  esac
  if [[ "$word" == -* ]]; then COMPREPLY=( $(compgen -W "$options" -- "$word") )
  elif [[ -n "$words" ]]; then COMPREPLY=( $(compgen -W "$words" -- "$word") )
  else COMPREPLY=( $(compgen -f -- "$word") ); fi
}
complete -o filenames -F _sluice sluice
`
}

function fish(commands: readonly Command[]): string {
  const lines = [...words(commands)].map(([before, next]) => {
    const when = before === '' ? '__fish_use_subcommand' : seen(before)
    return `complete -c sluice -n '${when}' -a '${next.join(' ')}'`
  })
  for (const command of commands)
    for (const [name, { about, value, choices }] of Object.entries({ ...command.options, ...globalOptions })) {
      const needs = value === undefined ? '' : choices === undefined ? ' -r' : ` -x -a '${choices.join(' ')}'`
      lines.push(
        `complete -c sluice -n '${seen(command.name)}' -l ${name}${needs} -d '${about.replaceAll("'", "\\'")}'`,
      )
    }
  return `# sluice completion; add to your shell: sluice completion fish | source\n${lines.join('\n')}\n`
}

/** `policy diff` is after both words: `diff` alone could belong to another group. */
const seen = (name: string): string =>
  name
    .split(' ')
    .map((word) => `__fish_seen_subcommand_from ${word}`)
    .join('; and ')

export async function completion(input: Input, terminal: Terminal, commands: readonly Command[]): Promise<ExitCode> {
  const [shell = ''] = input.args
  if (!shells.includes(shell)) {
    const near = nearestWord(shell, shells)
    throw wrongUse(
      `${JSON.stringify(shell)} is no shell it knows; use ${shells.join(', ')}${near ? ` (did you mean ${near}?)` : ''}`,
    )
  }
  const script = completionScript(shell, commands)
  terminal.result({ shell, script }, () => terminal.write(script))
  return 0
}
