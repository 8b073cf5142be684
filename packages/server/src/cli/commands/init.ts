import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { wrongUse } from '../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../command.ts'
import { codeFor, frameworkOf, frameworks } from '../init/frameworks.ts'
import { starterPolicy } from '../init/starter-policy.ts'
import { safe } from '../terminal/text.ts'

/** Writes a commented policy to begin with, and says what enforces it. */
export async function init(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [file = 'sluice.yaml'] = input.args
  if (existsSync(file) && !input.flag('force'))
    throw wrongUse(`${JSON.stringify(file)} is there already`, 'name another file, or replace it with --force')
  if (frameworks.includes(file))
    throw wrongUse(
      `${JSON.stringify(file)} would be the name of the file`,
      `sluice init --for ${file} is for that framework`,
    )
  const project = projectHere()
  const service = input.text('service') ?? project.name?.replace(/^@[^/]*\//, '') ?? 'my-service'
  if (!/^[\w.-]+$/.test(service))
    throw wrongUse(`--service is ${JSON.stringify(service)}; use letters, digits, -, _ and .`)
  const framework = input.text('for') ?? frameworkOf({ ...project.dependencies, ...project.devDependencies })
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, starterPolicy(service))
  const code = codeFor(framework, file)
  terminal.result({ file, service, framework, code }, () => {
    const { style } = terminal
    terminal.line(`${style.good('✓')} wrote ${style.strong(safe(file))} for the service ${style.strong(service)}`)
    terminal.line()
    terminal.line(framework === 'daemon' ? 'It is enforced by:' : `Enforce it (${framework}):`)
    for (const line of code) terminal.line(`  ${safe(line)}`)
    terminal.line()
    terminal.line(`Then: ${style.accent(`sluice policy validate ${safe(file)}`)}`)
    terminal.line(`      ${style.accent(`sluice explain --path /api/orders --ip 192.0.2.1 --policy ${safe(file)}`)}`)
  })
  return 0
}

interface Project {
  readonly name?: string
  readonly dependencies?: Readonly<Record<string, unknown>>
  readonly devDependencies?: Readonly<Record<string, unknown>>
}

function projectHere(): Project {
  try {
    return (JSON.parse(readFileSync('package.json', 'utf8')) ?? {}) as Project
  } catch {
    return {}
  }
}
