import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { reservePort, waitFor } from 'sluice/testing'
import { type Block, blocksOf, root } from './page.ts'

/** What one step of a page printed, and what the page says that it prints. */
export interface Step {
  readonly title: string
  readonly printed: string
  readonly expected: readonly string[]
}

const cli = join(root, 'packages/server/dist/cli.js')
const isDaemon = ({ code }: Block): boolean => /^npx (?:@sluice\/server|sluice) (?:serve|proxy|collect)/m.test(code)
const isServer = (block: Block): boolean => isDaemon(block) || (block.language === 'ts' && block.code.includes('3000'))
const isCommand = ({ language, code }: Block): boolean =>
  language === 'sh' && /^(?:curl|npx (?:@sluice\/server|sluice) |for )/m.test(code)

/**
 * Runs the programs of a page in the order in which a reader meets them, in a folder of their own:
 *
 * - a block that begins with the name of a file, such as `# sluice.yaml`, is written there;
 * - a TypeScript block is a program; one that listens runs until the next one, another has to end with status 0;
 * - a block of `curl` or of our commands is run in a shell;
 * - a `text` block is what the step before it prints, line by line; `...` stands for anything.
 *
 * Addresses are those of the test's own servers instead of the usual ones.
 */
export async function runPage(page: string, folder: string, redisUrl: string, env: NodeJS.ProcessEnv): Promise<Step[]> {
  mkdirSync(folder, { recursive: true })
  const steps: Step[] = []
  // A program and a daemon can run beside each other, as a vendor and the proxy before it do.
  const running: { app?: Program; daemon?: Program } = {}
  let last: Program | undefined
  const blocks = blocksOf(page)
  const ports = { app: await reservePort(), daemon: await reservePort() }
  await Promise.all(Object.values(ports).map((port) => port.release()))
  const adapted = (code: string): string =>
    code
      .replaceAll('3000', String(ports.app.port))
      .replaceAll('8440', String(ports.daemon.port))
      .replaceAll('new Redis()', `new Redis('${redisUrl}')`)
      .replaceAll('redis://localhost:6379', redisUrl)
      // A machine that is busy with other tests may take longer than the usual deadline to reach Redis at first.
      .replaceAll('createLimiter({', "createLimiter({ deadline: '60s',")
      .replaceAll(/npx (?:@sluice\/server|sluice) /g, `node ${cli} `)
  try {
    for (const [index, block] of blocks.entries()) {
      const [, file] = /^(?:#|\/\/) ([\w-]+\.(?:ya?ml|json|ndjson|csv))$/m.exec(block.code.split('\n', 1)[0]!) ?? []
      if (file !== undefined) writeFileSync(join(folder, file), adapted(block.code))
      if (block.language === 'text' && last !== undefined) {
        const expected = block.code.split('\n').filter((line) => line.trim() !== '')
        if (Object.values(running).includes(last)) await settled(last, expected)
        steps.push({ title: last.title, printed: last.printed(), expected })
      }
      if (block.word === 'no-run') continue
      const title = `${page}, block ${index + 1}`
      if (block.language === 'ts' || isDaemon(block)) {
        const kind = isDaemon(block) ? 'daemon' : 'app'
        await running[kind]?.stop()
        delete running[kind]
        const program = block.language === 'ts' ? await compiled(page, index, adapted(block.code)) : undefined
        const args = program === undefined ? ['-c', `exec ${adapted(block.code).trim()}`] : [program]
        const started = start(title, program === undefined ? 'bash' : process.execPath, args, folder, {
          ...env,
          SLUICE_PORT: String(ports.daemon.port),
        })
        last = started
        if (isServer(block)) {
          running[kind] = started
          await started.listening(ports[kind].port)
        } else await started.ended()
      } else if (isCommand(block)) {
        const command = start(title, 'bash', ['-ec', adapted(block.code)], folder, env)
        await command.ended()
        last = command
      } else if (block.language !== 'text') last = undefined
    }
  } finally {
    await Promise.all(Object.values(running).map((program) => program.stop()))
  }
  return steps
}

/** Waits until a program that goes on running has printed what its page says. */
async function settled(program: Program, expected: readonly string[]): Promise<void> {
  await waitFor(() => missing(program.printed(), expected).length === 0, { timeoutMs: 60_000 }).catch(() => {})
}

/** The lines that were not printed. */
export function missing(printed: string, expected: readonly string[]): string[] {
  const lines = printed.split('\n')
  return expected.filter((line) => {
    const parts = line.trim().split('...')
    const pattern = new RegExp(parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*'))
    return !lines.some((each) => pattern.test(each))
  })
}

async function compiled(page: string, index: number, code: string): Promise<string> {
  // Below the repository, so that packages are found as they are in a project that installed them.
  const home = join(root, page.includes('coming-from') ? 'bench' : '.', '.cache', 'docs-run')
  mkdirSync(home, { recursive: true })
  const file = join(home, `${page.replace(/\.md$/, '').replaceAll('/', '-')}-${index + 1}.mjs`)
  const tsconfigRaw = { compilerOptions: { experimentalDecorators: true, target: 'es2022' } }
  writeFileSync(file, (await transform(code, { loader: 'ts', target: 'node20', tsconfigRaw })).code)
  return file
}

interface Program {
  readonly title: string
  printed(): string
  ended(): Promise<void>
  listening(port: number): Promise<void>
  stop(): Promise<void>
}

function start(title: string, command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Program {
  const child: ChildProcess = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  child.stdout!.on('data', (data) => (printed += data))
  child.stderr!.on('data', (data) => (printed += data))
  const closed = once(child, 'close')
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null
  const failed = (why: string): Error => new Error(`${title} ${why}:\n${printed}`)
  return {
    title,
    printed: () => printed,
    async ended() {
      const late = setTimeout(() => child.kill('SIGKILL'), 60_000)
      await closed
      clearTimeout(late)
      if (child.exitCode !== 0) throw failed(`ended with ${child.exitCode ?? child.signalCode}`)
    },
    async listening(port) {
      await waitFor(() => isOver() || accepts(port), { timeoutMs: 60_000 })
      if (isOver()) throw failed('ended instead of listening')
    },
    async stop() {
      if (!isOver()) child.kill('SIGKILL')
      await closed
    },
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
