import type { Command } from './command.ts'
import { globalOptions } from './options.ts'

export const shells: readonly string[] = ['bash', 'zsh', 'fish']

/** A script that completes commands and the names of options in a shell. */
export function completionScript(shell: string, commands: readonly Command[]): string {
  if (shell === 'fish') return fish(commands)
  const script = bash(commands)
  return shell === 'zsh' ? `autoload -U +X bashcompinit && bashcompinit\n${script}` : script
}

const optionsOf = (command: Command): string[] =>
  [...Object.keys(command.options), ...Object.keys(globalOptions)].map((name) => `--${name}`)

/** What can stand after `sluice` and after `sluice GROUP`. */
function words(commands: readonly Command[]): Map<string, string[]> {
  const after = new Map<string, string[]>([['', []]])
  for (const { name } of commands) {
    const [first = '', second] = name.split(' ')
    const firsts = after.get('') ?? []
    if (!firsts.includes(first)) firsts.push(first)
    if (second !== undefined) after.set(first, [...(after.get(first) ?? []), second])
  }
  return after
}

function bash(commands: readonly Command[]): string {
  const after = words(commands)
  const groups = [...after].map(
    ([group, next]) => `    ${group === '' ? '""' : `"${group}"`}) words="${next.join(' ')}" ;;`,
  )
  const cases = commands.map((command) => `    "${command.name}") options="${optionsOf(command).join(' ')}" ;;`)
  return `# sluice completion; add to your shell: source <(sluice completion bash)
_sluice() {
  local word="\${COMP_WORDS[COMP_CWORD]}" first="\${COMP_WORDS[1]}" second="\${COMP_WORDS[2]}" words="" options=""
  local before=""
  (( COMP_CWORD > 1 )) && before="$first"
  (( COMP_CWORD > 2 )) && before="-"
  case "$before" in
${groups.join('\n')}
  esac
  case "$first" in
    ${[...after.keys()].filter(Boolean).join('|')}) first="$first $second" ;;
  esac
  case "$first" in
${cases.join('\n')}
  esac
  if [[ "$word" == -* ]]; then COMPREPLY=( $(compgen -W "$options" -- "$word") )
  elif [[ -n "$words" ]]; then COMPREPLY=( $(compgen -W "$words" -- "$word") )
  else COMPREPLY=( $(compgen -f -- "$word") ); fi
}
complete -o filenames -F _sluice sluice
`
}

function fish(commands: readonly Command[]): string {
  const lines = [...words(commands)].map(([group, next]) => {
    const when = group === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${group}`
    return `complete -c sluice -n '${when}' -a '${next.join(' ')}'`
  })
  for (const command of commands) {
    const last = command.name.split(' ').at(-1)
    for (const [name, { about, value }] of Object.entries({ ...command.options, ...globalOptions })) {
      const needs = value === undefined ? '' : ' -r'
      lines.push(
        `complete -c sluice -n '__fish_seen_subcommand_from ${last}' -l ${name}${needs} -d '${about.replaceAll("'", "\\'")}'`,
      )
    }
  }
  return `# sluice completion; add to your shell: sluice completion fish | source\n${lines.join('\n')}\n`
}
