import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Registry } from './registry.ts'

const root = join(import.meta.dirname, '..', '..')
const consumer = join(import.meta.dirname, 'consumer')

/** The commands of each package manager for the three things that a user does with a package. */
export const managers = {
  npm: { add: ['npm', 'install'], run: ['npm', 'exec', '--'], runOnce: ['npx', '--yes'] },
  pnpm: { add: ['pnpm', 'add'], run: ['pnpm', 'exec'], runOnce: ['pnpm', 'dlx'] },
  yarn: { add: ['yarn', 'add'], run: ['yarn', 'run'], runOnce: ['yarn', 'dlx'] },
} as const
export type Manager = keyof typeof managers

/** The result of a command. */
export interface Ended {
  readonly code: number
  readonly stdout: string
  /** Both streams, for error messages. */
  readonly output: string
}

export interface ProjectOptions {
  /** How Yarn installs: a folder of packages, or Plug'n'Play, which is its default. */
  readonly linker?: 'node-modules' | 'pnp'
}

/** An empty folder in which a user begins, with its own home, so that no setting of this machine applies. */
export class Project {
  readonly folder: string
  readonly #place: string
  readonly #environment: Readonly<Record<string, string>>

  constructor(registry: Registry, { linker = 'node-modules' }: ProjectOptions = {}) {
    this.#place = mkdtempSync(join(tmpdir(), 'sluice-project-'))
    this.folder = join(this.#place, 'project')
    mkdirSync(this.folder)
    this.write('package.json', JSON.stringify({ name: 'project', private: true, type: 'module' }))
    // Otherwise Yarn looks for a project in the folders above.
    this.write('yarn.lock', '')
    this.#environment = {
      PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH}`,
      HOME: this.#place,
      npm_config_registry: registry.url,
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      YARN_NPM_REGISTRY_SERVER: registry.url,
      YARN_UNSAFE_HTTP_WHITELIST: '127.0.0.1',
      YARN_ENABLE_TELEMETRY: '0',
      YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
      YARN_NODE_LINKER: linker,
    }
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text)
  }

  /** Copies the files of `consumer/` into the project. */
  addConsumer(): void {
    for (const name of readdirSync(consumer)) copyFileSync(join(consumer, name), join(this.folder, name))
  }

  /** Runs a command in the folder; does not throw when it fails. */
  run(...[command, ...args]: readonly string[]): Promise<Ended> {
    return new Promise((resolve) => {
      const options = { cwd: this.folder, env: this.#environment, maxBuffer: 2 ** 26 }
      execFile(command!, args, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
        resolve({ code, stdout, output: `${stdout}${stderr}${code === 0 ? '' : (error?.message ?? '')}` })
      })
    })
  }

  /** Runs a command that must succeed, and returns what it printed. */
  async must(...words: readonly string[]): Promise<string> {
    const { code, stdout, output } = await this.run(...words)
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}:\n${output.slice(-4000)}`)
    return stdout
  }

  /**
   * Compiles the files strictly, including the declarations of packages, and returns the errors that are the user's or
   * ours. Without the types of Node, which some of ours mention, declarations are read but not checked.
   */
  async typeErrors(
    moduleResolution: 'nodenext' | 'bundler',
    files: readonly string[],
    types: readonly string[] = ['node'],
  ): Promise<string[]> {
    const skipLibCheck = !types.includes('node')
    const compilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck, noEmit: true, target: 'es2022', types },
      ...{ moduleResolution, module: moduleResolution === 'bundler' ? 'esnext' : 'nodenext', resolveJsonModule: true },
    }
    this.write('tsconfig.json', JSON.stringify({ compilerOptions, files }))
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const { code, stdout, output } = await this.run(process.execPath, tsc, '-p', this.folder, '--pretty', 'false')
    const errors = stdout.split('\n').filter((line) => / error TS|^error TS/.test(line))
    if (code !== 0 && errors.length === 0) throw new Error(`tsc ended with ${code}:\n${output}`)
    // Some packages of others have mistakes in their declarations.
    return errors.filter(
      (line) => !line.includes('/node_modules/') || /node_modules\/(@sluice\/server|sluice)\//.test(line),
    )
  }

  remove(): void {
    rmSync(this.#place, { recursive: true, force: true })
  }
}
