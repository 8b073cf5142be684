import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type RedisServer, startRedis, waitFor } from 'sluice/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseRedisUrl } from '../../../connections/redis-target.ts'
import { commands } from '../../commands.ts'
import { parseInput } from '../../parse.ts'
import { verdict } from './doctor.ts'
import { examineDaemon } from './examine-daemon.ts'
import { probes } from './examine-rights.ts'
import type { Finding } from './finding.ts'
import { lookAtRedis } from './look-at-redis.ts'

let redis: RedisServer
const ends: (() => unknown)[] = []
beforeEach(async () => {
  redis = await start()
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function start(...args: string[]): Promise<RedisServer> {
  const server = await startRedis({ args: ['--appendonly', 'yes', ...args] })
  ends.push(() => server.stop())
  return server
}

async function look(url = redis.url, acceptsEviction = false): Promise<{ code: number; bad: Finding[] }> {
  const findings = await lookAtRedis(
    parseRedisUrl(url, '--redis'),
    { prefix: 'sluice:', acceptsEviction },
    { at: () => undefined },
  )
  return { code: verdict(findings), bad: findings.filter(({ level }) => level !== 'ok') }
}

/** A user with these rights, and the URL of Redis for it. */
async function userWith(...rights: string[]): Promise<string> {
  await redis.cli('ACL', 'SETUSER', 'someone', 'on', '>secret', ...rights)
  return redis.url.replace('://', '://someone:secret@')
}

function one(about: string, text: RegExp, mend: RegExp): unknown[] {
  return [expect.objectContaining({ about, text: expect.stringMatching(text), mend: expect.stringMatching(mend) })]
}

describe('the doctor', () => {
  it('finds nothing to mend in a Redis as the docs want it, for a user as the docs want it', async () => {
    const docs = readFileSync(new URL('../../../../../../docs/redis.md', import.meta.url), 'utf8')
    const rights = /^ACL SETUSER shop on >secret (.*)$/m.exec(docs)![1]!.split(' ')
    expect(await look(await userWith(...rights))).toEqual({ code: 0, bad: [] })
  })

  it('tries every command that a script of Sluice runs', () => {
    const sources = fileURLToPath(new URL('../../../../../sluice/src', import.meta.url))
    const scripts = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.lua'))
    const run = scripts.flatMap((name) =>
      [...readFileSync(join(sources, name), 'utf8').matchAll(/call\('([A-Z]+)'/g)].map(([, command]) => command),
    )
    const tried = new Set([...probes.map(([name]) => name), 'PUBLISH'])
    expect(run.length).toBeGreaterThan(50)
    expect(run.filter((name) => !tried.has(name!))).toEqual([])
  })

  it('says that nothing outlives a restart, unless that is accepted', async () => {
    await redis.cli('CONFIG', 'SET', 'appendonly', 'no')
    expect(await look()).toEqual({ code: 1, bad: one('persistence', /all counters start again/, /appendonly yes/) })
    expect((await look(redis.url, true)).code).toBe(0)
    await redis.cli('CONFIG', 'SET', 'save', '3600 1')
    expect((await look()).code).toBe(0)
  })

  it('names the database that is not there', async () => {
    expect(await look(`${redis.url}/99`)).toEqual({ code: 4, bad: one('redis', /out of range/, /name a database/) })
  })

  it.each([
    ['no channels', ['allkeys', 'resetchannels', '+@all'], 'messages', /NOPERM/, /&sluice:\*/],
    ['no SUBSCRIBE', ['allkeys', 'allchannels', '+@all', '-subscribe'], 'messages', /NOPERM/, /\+subscribe/],
    ['other keys', ['~other:*', 'allchannels', '+@all'], 'keys', /NOPERM/, /~sluice:\*/],
    ['no tagged keys', ['~sluice:*', 'allchannels', '+@all'], 'keys', /cache and presence/, /~\{sluice:\*/],
    ['no TIME', ['allkeys', 'allchannels', '+@all', '-time'], 'clock', /NOPERM/, /\+time/],
    ['no scripts', ['allkeys', 'allchannels', '+@all', '-@scripting'], 'scripts', /NOPERM/, /\+eval/],
    ['no hashes', ['allkeys', 'allchannels', '+@all', '-@hash'], 'commands', /hset, hget/, /\+hset \+hget/],
    ['no INFO', ['allkeys', 'allchannels', '+@all', '-info'], 'info', /not known/, /\+info/],
  ])('says what a user with %s needs', async (_, rights, about, text, mend) => {
    const { code, bad } = await look(await userWith(...rights))
    expect(bad).toEqual(expect.arrayContaining(one(about, text, mend)))
    expect(code).toBe(1)
  })

  it('tells a wrong password from a missing right', async () => {
    const url = (await userWith('allkeys', 'allchannels', '+@all')).replace('secret', 'wrong')
    expect(await look(url)).toEqual({ code: 4, bad: one('redis', /WRONGPASS/, /right user and password/) })
  })

  it('sends the operator from a replica to its master', async () => {
    const replica = await start('--replicaof', '127.0.0.1', String(redis.port))
    const { code, bad } = await look(replica.url)
    expect(code).toBe(1)
    expect(bad.map(({ about }) => about)).toEqual(['role', 'keys'])
    for (const { mend } of bad) expect(mend).toMatch(/address of the master/)
  })

  it('says that replicas are missing', async () => {
    await redis.cli('CONFIG', 'SET', 'min-replicas-to-write', '3')
    expect(await look()).toEqual({ code: 1, bad: one('keys', /NOREPLICAS/, /min-replicas-to-write/) })
  })

  it('counts the slots of a cluster that does not serve all, and knows a node that is named alone', async () => {
    const node = await start('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1')
    const state = (want: string) => async () => String(await node.cli('CLUSTER', 'INFO')).includes(want)
    const alone = await look(node.url)
    expect(alone.bad).toEqual([
      ...one('mode', /one node of a cluster/, /redis\+cluster:/),
      ...one('keys', /CLUSTERDOWN/, /--cluster check/),
    ])
    await node.cli('CLUSTER', 'ADDSLOTSRANGE', '0', '8000')
    await waitFor(state('cluster_slots_ok:8001'))
    const half = await look(node.url.replace('redis:', 'redis+cluster:'))
    expect(half).toEqual({ code: 1, bad: one('cluster', /8,001 of 16,384 slots/, /--cluster fix/) })
    await node.cli('CLUSTER', 'ADDSLOTSRANGE', '8001', '16383')
    await waitFor(state('cluster_state:ok'))
    expect(await look(node.url.replace('redis:', 'redis+cluster:'))).toEqual({ code: 0, bad: [] })
  })

  it('says that a snapshot cannot be written', async () => {
    // A folder of this name stands where the snapshot would be renamed to.
    const failing = await start('--dbfilename', 'appendonlydir', '--save', '3600 1')
    await failing.cli('CONFIG', 'SET', 'appendonly', 'no')
    await failing.cli('BGSAVE')
    await waitFor(async () => (await failing.info('persistence')).rdb_last_bgsave_status === 'err')
    expect(await look(failing.url)).toEqual({ code: 1, bad: one('redis', /MISCONF/, /make room on its disk/) })
  })

  it('says that a script holds Redis up', async () => {
    await redis.cli('CONFIG', 'SET', 'lua-time-limit', '1')
    const socket = connect(redis.port, '127.0.0.1')
    const script = "while true do redis.call('TIME') end"
    socket.write(`*3\r\n$4\r\nEVAL\r\n$${script.length}\r\n${script}\r\n$1\r\n0\r\n`)
    ends.push(async () => {
      await redis.cli('SCRIPT', 'KILL')
      socket.destroy()
    })
    await waitFor(() =>
      redis.cli('PING').then(
        () => false,
        (error: Error) => error.message.startsWith('BUSY'),
      ),
    )
    expect(await look()).toEqual({ code: 1, bad: one('redis', /BUSY/, /SCRIPT KILL/) })
  })

  it('says that there are no connections left', async () => {
    const full = await start()
    await full.cli('CONFIG', 'SET', 'maxclients', '2')
    const others: Socket[] = [connect(full.port, '127.0.0.1'), connect(full.port, '127.0.0.1')]
    ends.push(() => others.forEach((socket) => void socket.destroy()))
    await waitFor(async () => (await isRefused(full.port)) === true)
    expect(await look(full.url)).toEqual({ code: 1, bad: one('redis', /max number of clients/, /maxclients/) })
  })

  it('says that a command was renamed away', async () => {
    const without = await start('--rename-command', 'EVAL', '')
    expect(await look(without.url)).toEqual({ code: 1, bad: one('scripts', /unknown command/, /allow eval/) })
  })

  it('says that memory is nearly full', async () => {
    await redis.cli('SETRANGE', 'filler', '20000000', 'x')
    const { used_memory: used } = await redis.info('memory')
    await redis.cli('CONFIG', 'SET', 'maxmemory', String(Math.round(Number(used) * 1.08)))
    expect((await look()).bad).toEqual(one('memory', /^\d\d MB of \d\d MB in use$/, /raise maxmemory/))
  })

  it('tells what is no Redis, and what does not listen', async () => {
    const server: Server = createServer((_, response) => response.end('hi')).listen(0, '127.0.0.1')
    ends.push(() => server.close())
    await waitFor(() => server.listening)
    const { port } = server.address() as AddressInfo
    expect((await look(`redis://127.0.0.1:${port}`)).bad[0]!.mend).toMatch(/something else answers/)
    const nobody = await look('redis://127.0.0.1:1')
    expect(nobody).toEqual({ code: 3, bad: one('redis', /ECONNREFUSED/, /nothing listens/) })
  })

  it('says of something else at the address of the daemon that it is none', async () => {
    const other = createServer((_, response) => void response.end('[]')).listen(0, '127.0.0.1')
    ends.push(() => other.close())
    await once(other, 'listening')
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const asked = parseInput(commands.find(({ name }) => name === 'doctor')!, ['--url', url], {})
    const found = await examineDaemon(asked, { policyVersion: undefined, hasRedis: false })
    expect(found).toEqual([expect.objectContaining({ text: `${url} does not answer as a Sluice daemon does` })])
  })
})

/** Whether Redis turns a new connection away. */
function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('data', (text) => resolve(text.toString().includes('max number')))
    socket.once('connect', () => setTimeout(() => socket.destroy(), 50))
    for (const end of ['close', 'error']) socket.once(end, () => resolve(false))
  })
}
