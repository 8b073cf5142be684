// Completes package-lock.json after an `npm install` against a registry that mirrors only this platform's packages.
// npm then leaves out the optional packages of other platforms, and `npm ci` refuses the file it wrote itself
// (npm/cli#9342). They are entered here by name and exact version, with the platform in their name.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const file = fileURLToPath(new URL('../package-lock.json', import.meta.url))
const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

/** `@scope/binding-linux-arm64-musl` is for `{ os: ['linux'], cpu: ['arm64'], libc: ['musl'] }`. */
function platformOf(name) {
  const words = name.split('/').at(-1).split(/[-.]/)
  const os = words.filter((word) => systems.includes(word))
  const cpu = words.filter((word) => processors.includes(word))
  const isMusl = words.some((word) => word.startsWith('musl'))
  const libc =
    os[0] !== 'linux' ? [] : isMusl ? ['musl'] : words.some((word) => word.startsWith('gnu')) ? ['glibc'] : []
  return Object.fromEntries(Object.entries({ cpu, libc, os }).filter(([, values]) => values.length > 0))
}

const lock = JSON.parse(readFileSync(file, 'utf8'))
const added = {}
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const nested = `${path}/node_modules/${name}`
    const hoisted = `node_modules/${name}`
    if (lock.packages[nested] || lock.packages[hoisted]?.version === version) continue
    const platform = platformOf(name)
    if (!/^\d+\.\d+\.\d+[-\w.]*$/.test(version) || Object.keys(platform).length === 0) continue
    const place = lock.packages[hoisted] || added[hoisted] ? nested : hoisted
    added[place] = { version, ...platform, ...(entry.dev ? { dev: true } : {}), optional: true }
  }
}
const packages = Object.entries({ ...lock.packages, ...added }).sort(([a], [b]) => (a === b ? 0 : a < b ? -1 : 1))
if (Object.keys(added).length > 0) {
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`)
}
console.log(`package-lock.json: added ${Object.keys(added).length} packages of other platforms`)
