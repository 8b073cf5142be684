import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { gone, isAlive } from './gone.ts'
import { reservePort, withFreePorts } from './ports.ts'
import { startProcess } from './process.ts'

const forever = 'setInterval(() => {}, 1000)'

test('stops the process and removes its folder', async () => {
  const server = await startProcess({
    name: 'node',
    command: process.execPath,
    args: ['-e', forever],
    ready: () => true,
  })
  const { pid, folder } = server
  expect(isAlive(pid)).toBe(true)
  expect(existsSync(folder)).toBe(true)
  await server.stop()
  expect([isAlive(pid), existsSync(folder), server.running]).toEqual([false, false, false])
})

test('a process that ignores SIGTERM is killed', async () => {
  const deaf = `process.on('SIGTERM', () => {}); console.log('deaf'); ${forever}`
  let output = (): string => ''
  const server = await startProcess({
    name: 'deaf',
    command: process.execPath,
    args: ['-e', deaf],
    ready: () => true,
    graceMs: 50,
  })
  output = () => server.lastLines()
  await expect.poll(output).toBe('deaf')
  await server.stop()
  await gone([server.pid], [server.folder])
})

test('a frozen process is stopped all the same', async () => {
  const server = await startProcess({
    name: 'node',
    command: process.execPath,
    args: ['-e', forever],
    ready: () => true,
  })
  await server.freeze()
  expect(server.frozen).toBe(true)
  await server.stop()
  await gone([server.pid], [server.folder])
})

test('a child that ended and was not reaped does not hold up a freeze', async () => {
  // The child ends, and `sleep` never waits for the children that it inherits: the child stays a zombie.
  const args = ['-c', 'true & exec sleep 1000']
  const isZombie = (pid: number) =>
    execFileSync('ps', ['-o', 'stat=', '--ppid', `${pid}`], { encoding: 'utf8' })[0] === 'Z'
  const server = await startProcess({ name: 'careless', command: 'sh', args, ready: isZombie, wholeTree: true })
  await server.freeze()
  expect(server.frozen).toBe(true)
  await server.stop()
})

test('a process that ends at once is an error with its last lines', async () => {
  const args = ['-e', 'console.error("no such disk"); process.exit(3)']
  const starting = startProcess({ name: 'broken', command: process.execPath, args, ready: () => false })
  await expect(starting).rejects.toThrow(/broken did not start: broken ended with 3\nno such disk/)
})

test('a program that does not exist is an error', async () => {
  const starting = startProcess({ name: 'none', command: '/no/such/program', args: [], ready: () => false })
  await expect(starting).rejects.toThrow('ENOENT')
})

test('a process that never gets ready is ended', async () => {
  const args = ['-e', `console.log(process.pid); ${forever}`]
  let pid = 0
  const starting = startProcess({
    name: 'slow',
    command: process.execPath,
    args,
    ready: (started) => {
      pid = started
      return false
    },
    readyTimeoutMs: 200,
  })
  await expect(starting).rejects.toThrow('waited 200 ms for slow to be ready')
  await gone([pid])
})

test.concurrent.each(['SIGKILL', 'SIGTERM', 'exit'] as const)(
  'nothing outlives a test process ended by %s',
  async (how) => {
    const program = `
    import { startRedis } from ${JSON.stringify(new URL('./redis.ts', import.meta.url).href)}
    const [one, two] = await Promise.all([startRedis(), startRedis()])
    await two.freeze()
    const folder = (await one.cli('CONFIG', 'GET', 'dir'))[1]
    console.log(JSON.stringify({ pids: [one.pid, two.pid], folder }))
    ${how === 'exit' ? 'process.exit(0)' : forever}
  `
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(child.stdout, 'data')
    const { pids, folder } = JSON.parse(String(line)) as { pids: number[]; folder: string }
    if (how !== 'exit') child.kill(how)
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    await gone(pids, [folder])
  },
)

test('a reserved port cannot be taken, and no two reservations are the same', async () => {
  const reservations = [await reservePort(), await reservePort(), await reservePort()]
  expect(new Set(reservations.map(({ port }) => port)).size).toBe(3)
  await Promise.all(reservations.map((reservation) => reservation.release()))
})

test('a start that finds its port taken is tried again with another', async () => {
  const tried: number[] = []
  await withFreePorts(1, async ([port]) => {
    tried.push(port!)
    if (tried.length === 1) throw new Error('bind: Address already in use')
  })
  expect(new Set(tried).size).toBe(2)
  await expect(withFreePorts(1, () => Promise.reject(new Error('other')))).rejects.toThrow('other')
})
