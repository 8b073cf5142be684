// Compiles the TypeScript of the documentation, so that no example goes stale: each block, or each part of one that
// begins with a comment after an empty line, as a module of its own.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, '.cache', 'docs-code')

/** What an example may take for granted, by the name it uses. */
const given = {
  limiter: "declare const limiter: import('sluice').Limiter",
  another: "declare const another: import('sluice').Limiter",
  app: 'declare const app: any',
  handler: 'declare const handler: any',
  log: 'declare const log: { warn(event: object): void; error(event: object): void }',
  express: "import express from 'express'",
  createServer: "import { createServer } from 'node:http'",
  Module: "import { Module } from '@nestjs/common'",
  Controller: "import { Controller } from '@nestjs/common'",
  Post: "import { Post } from '@nestjs/common'",
  RateLimit: "import { RateLimit } from 'sluice/nest'",
  rateLimit: "import { rateLimit } from 'sluice/express'",
  createLimiter: "import { createLimiter } from 'sluice'",
  limiterMetrics: "import { limiterMetrics } from 'sluice'",
  policy: "declare const policy: import('sluice').PolicyDocument",
  redisStore: "import { redisStore } from 'sluice/redis'",
  openRedis: "import { openRedis } from 'sluice/redis'",
  client: "declare const client: import('ioredis').Redis",
  redis: "declare const redis: import('ioredis').Redis",
  createCache: "import { createCache } from 'sluice/cache'",
  defineKeys: "import { defineKeys, key } from 'sluice/cache'",
  createFreshness: "import { createFreshness } from 'sluice/cache'",
  createPresence: "import { createPresence } from 'sluice/presence'",
  prices: "declare const prices: import('sluice/cache').Cache",
  egress: "declare const egress: import('sluice/egress').Egress",
  user: 'declare const user: { id: string; name: string }',
  db: 'declare const db: any',
  pool: 'declare const pool: any',
  isDown: 'declare const isDown: boolean',
  meterProvider: "declare const meterProvider: import('@opentelemetry/api').MeterProvider",
  inTransaction: 'declare function inTransaction(pool: any, work: (client: any) => Promise<void>): Promise<void>',
  readValues: 'declare function readValues(client: any, keys: readonly string[]): Promise<any>',
  clockOf: 'declare function clockOf(client: any): Promise<number>',
  writeOrDelete: 'declare function writeOrDelete(client: any, ...values: any[]): Promise<void>',
  etcdStore: "declare function etcdStore(): import('sluice').Store",
}

function examplesOf(page) {
  const blocks = readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```/gm)
  return [...blocks].flatMap(([, code]) => code.split(/\n\n(?=\/\/ )/))
}

function complete(code) {
  const isUsed = (name) => new RegExp(`(?<![.\\w])${name}\\b`).test(code)
  const isMade = (name) => new RegExp(`(?:const|class|^import(?: [^\\n]*)?)[ {]${name}\\b`, 'm').test(code)
  const prelude = Object.keys(given).filter((name) => isUsed(name) && !isMade(name))
  return `${prelude.map((name) => given[name]).join('\n')}\n${code}\nexport {}\n`
}

const pages = [
  'README.md',
  'packages/sluice/README.md',
  ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`),
]
const examples = pages
  .filter((page) => page.endsWith('.md'))
  .flatMap((page) => examplesOf(page).map((code) => [page, code]))
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
for (const [index, [page, code]] of examples.entries()) {
  const name = `${page.replace(/\.md$/, '').replaceAll('/', '-').toLowerCase()}-${index + 1}.ts`
  writeFileSync(join(folder, name), complete(code))
}
writeFileSync(
  join(folder, 'tsconfig.json'),
  JSON.stringify({
    extends: '../../tsconfig.json',
    compilerOptions: { rootDir: '../..' },
    include: ['*.ts'],
    exclude: [],
  }),
)
const { status, stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder, '--pretty', 'false'], {
  encoding: 'utf8',
})
process.stdout.write(stdout)
if (status === 0) console.log(`${examples.length} examples compile`)
process.exitCode = status === 0 && examples.length > 0 ? 0 : 1
