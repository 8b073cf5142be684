import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { documentedNeeds, entryPoints, manifestOf } from './entry-points.ts'
import { pack } from './pack.ts'
import { type Manager, managers, Project, type ProjectOptions } from './project.ts'
import { type Registry, startRegistry } from './registry.ts'

const root = join(import.meta.dirname, '..', '..')
const execute = promisify(execFile)
const minutes = 60_000
const isLong = process.env.SLUICE_PACKAGES === 'all'
const version = String(manifestOf('server').version)

let registry: Registry
let folder: string
let tarballs: string[]
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-tarballs-'))
  const { stdout } = await execute(process.execPath, ['scripts/pack.mjs', folder], { cwd: root })
  tarballs = stdout.trim().split('\n')
  registry = await startRegistry(tarballs)
}, 2 * minutes)
afterAll(async () => {
  await registry.stop()
  rmSync(folder, { recursive: true, force: true })
}, 2 * minutes)

const alone = `import { createLimiter } from 'sluice'
const limiter = await createLimiter({ limits: { rpm: 1 } })
const decision = await limiter.take('user:1')
if (!decision.allowed) console.log(decision.retryAfterMs.toFixed())
// @ts-expect-error -- if types were lost in packaging, this would compile
await createLimiter({ limts: { rpm: 1 } })
export {}
`

/** A project for the tests of one `describe`, prepared before them. */
function aProject(prepare: (project: Project) => Promise<unknown>, options?: ProjectOptions): () => Project {
  let project: Project
  beforeAll(async () => {
    project = new Project(registry, options)
    project.addConsumer()
    await prepare(project)
  }, 5 * minutes)
  afterAll(() => project?.remove(), 5 * minutes)
  return () => project
}

type Loaded = Record<string, number | string>
const loadAll = async (project: Project, file: string, command = ['node']): Promise<Loaded> =>
  JSON.parse(await project.must(...command, file, ...entryPoints)) as Loaded
const allLoad = Object.fromEntries(entryPoints.map((name) => [name, expect.any(Number)]))

/** The entry points that load without any other package, and for each of the others what its error must name. */
function loadAlone(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(documentedNeeds()).map(([name, needs]) => {
      // Undici is loaded when the first egress is made.
      const atOnce = needs.filter((each) => each !== 'undici')
      return [name, atOnce.length === 0 ? expect.any(Number) : expect.stringMatching(new RegExp(atOnce.join('|')))]
    }),
  )
}

const egressAlone = `import { createEgress } from 'sluice/egress'
const upstreams = [{ name: 'vendor', origin: 'https://api.vendor.example', limits: { rps: 1 } }]
await createEgress({ policy: { service: 'ingest', upstreams } }).catch(({ code, message }) => console.log(code, message))
`
const egressNeeds = 'SLUICE_MISSING_PEER sluice/egress needs undici: npm install undici@7\n'

const linksIn = (text: string): string[] => [...text.matchAll(/\]\(([^)]+)\)/g)].map((match) => match[1]!)

describe.each([0, 1] as const)('tarball %i', (index) => {
  const readFrom = async (tarball: string, ...files: string[]): Promise<string> =>
    (await execute('tar', ['-xzOf', tarball, ...files], { maxBuffer: 2 ** 26 })).stdout
  const read = (...files: string[]): Promise<string> => readFrom(tarballs[index]!, ...files)

  it('contains the licence, and code without maps, sources, tests or models of tests', async () => {
    const files = (await execute('tar', ['-tzf', tarballs[index]!])).stdout.trim().split('\n')
    expect(files).toEqual(expect.arrayContaining(['package/LICENSE', 'package/README.md', 'package/CHANGELOG.md']))
    expect(files.filter((file) => /\.map$|\.test\.|\/src\/|\.lua$|(?<!\.d)\.ts$/.test(file))).toEqual([])
    expect(files.filter((file) => /\/simulation\/|dist\/.+\/testing\//.test(file))).toEqual([])
    expect(await read('package/LICENSE')).toBe(readFileSync(join(root, 'LICENSE'), 'utf8'))
    const code = files.filter((file) => file.endsWith('.js'))
    expect(code.length).toBeGreaterThan(100)
    expect(await read(...code)).not.toContain('sourceMappingURL')
  })

  it('names no repository and links to none, unless it is packed with its address', async () => {
    const manifest = JSON.parse(await read('package/package.json')) as Record<string, unknown>
    expect(manifest).toMatchObject({ license: 'MIT', engines: { node: '>=20.19' } })
    expect(Object.keys(manifest)).not.toEqual(expect.arrayContaining(['repository']))
    expect(JSON.stringify(manifest)).not.toContain('sluice-source')
    // On npm's page a relative link is broken.
    expect(linksIn(await read('package/README.md')).filter((link) => !link.startsWith('https://'))).toEqual([])

    const home = 'https://git.example/owner/name'
    const named = pack((['sluice', 'server'] as const)[index]!, join(folder, 'named'), home)
    expect(JSON.parse(await readFrom(named, 'package/package.json'))).toMatchObject({
      homepage: `${home}#readme`,
      repository: { type: 'git', url: `git+${home}.git`, directory: expect.stringMatching(/^packages\//) },
      bugs: { url: `${home}/issues` },
    })
    const links = linksIn(await readFrom(named, 'package/README.md'))
    expect(links).toContain(`${home}/blob/v${version}/docs/README.md`)
    expect(links.filter((link) => !link.startsWith('https://'))).toEqual([])
  })
})

it('`npx sluice` runs the command line of a clone that is built', async () => {
  const { stdout } = await execute('npx', ['--no', '--', 'sluice', '--version'], { cwd: root })
  expect(stdout.trim()).toBe(version)
})

describe('the library alone, after `npm install sluice`', () => {
  const project = aProject((each) => each.must('npm', 'install', 'sluice'))

  it('brings zod and yaml, and nothing else', () => {
    const lock = JSON.parse(readFileSync(join(project().folder, 'package-lock.json'), 'utf8')) as { packages: object }
    expect(Object.keys(lock.packages).sort()).toEqual([
      '',
      'node_modules/sluice',
      'node_modules/yaml',
      'node_modules/zod',
    ])
  })

  it('can be imported and required, and each entry point lacks at most what docs/install.md says', async () => {
    expect(Object.keys(documentedNeeds()).sort()).toEqual([...entryPoints].sort())
    expect(await loadAll(project(), 'import-all.mjs')).toEqual(loadAlone())
    expect(await loadAll(project(), 'require-all.cjs')).toEqual(loadAlone())
  })

  it('says what to install when a part needs more', async () => {
    project().write('egress.mjs', egressAlone)
    expect(await project().must('node', 'egress.mjs')).toBe(egressNeeds)
  })

  it('decides in a CommonJS program', async () => {
    expect(JSON.parse(await project().must('node', 'use.cjs'))).toEqual(['function', true, false])
  })

  it.each(['nodenext', 'bundler'] as const)(
    'has types that stand without any other package: %s',
    async (resolution) => {
      project().write('alone.ts', alone)
      expect(await project().typeErrors(resolution, ['alone.ts'], [])).toEqual([])
    },
  )
})

describe.runIf(isLong).each(Object.keys(managers) as Manager[])(
  'both packages and all peers, installed with %s',
  (manager) => {
    const { add, run, runOnce } = managers[manager]
    const types = ['@types/node@20', '@types/express', '@types/koa', '@types/pg']
    const peers = Object.keys(manifestOf('sluice').peerDependencies!)
    const project = aProject((each) => each.must(...add, 'sluice', '@sluice/server', ...peers, 'rxjs', ...types))

    it('can be imported and required at every entry point', async () => {
      expect(await loadAll(project(), 'import-all.mjs')).toEqual(allLoad)
      expect(await loadAll(project(), 'require-all.cjs')).toEqual(allLoad)
    })

    it('compile in a strict program, with nodenext from ES modules and CommonJS', async () => {
      expect(await project().typeErrors('nodenext', ['app.ts', 'from-commonjs.cts'])).toEqual([])
    })

    it('compile in a strict program, with bundler', async () => {
      expect(await project().typeErrors('bundler', ['app.ts'])).toEqual([])
    })

    it('run the command line', async () => {
      project().write('sluice.yaml', 'service: shop\nrules: [{ name: ip, key: ip, limits: { rpm: 100 } }]\n')
      expect((await project().must(...run, 'sluice', '--version')).trim()).toBe(version)
      expect((await project().run(...run, 'sluice', 'policy', 'validate', 'sluice.yaml')).code).toBe(0)
      project().write('sluice.yaml', 'service: shop\nrules: [{ name: ip, key: ip, limits: { rpn: 100 } }]\n')
      const wrong = await project().run(...run, 'sluice', 'policy', 'validate', 'sluice.yaml')
      expect([wrong.code, wrong.output]).toEqual([1, expect.stringContaining('rpm')])
    })

    it('run the command line without being installed', async () => {
      const empty = new Project(registry)
      try {
        expect((await empty.must(...runOnce, '@sluice/server', '--version')).trim().split('\n').at(-1)).toBe(version)
      } finally {
        empty.remove()
      }
    })
  },
)

describe.runIf(isLong)("the library alone, with Yarn's Plug'n'Play, which finds declared dependencies only", () => {
  const project = aProject((each) => each.must('yarn', 'add', 'sluice'), { linker: 'pnp' })

  it('can be imported, and each entry point lacks at most what docs/install.md says', async () => {
    expect(await loadAll(project(), 'import-all.mjs', ['yarn', 'node'])).toEqual(loadAlone())
  })

  it('says what to install when a part needs more', async () => {
    project().write('egress.mjs', egressAlone)
    expect(await project().must('yarn', 'node', 'egress.mjs')).toBe(egressNeeds)
  })
})
