import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../runtime/system-clock.ts'
import { AcceptWait, acceptQueueLength, queueLengthIn, requestWait } from './request-wait.ts'

describe('the wait before a connection is accepted', () => {
  it('is none while the queue is empty, whatever the rate', () => {
    const wait = new AcceptWait(0)
    for (let nowMs = 25; nowMs < 1000; nowMs += 25) {
      for (let i = 0; i < 50; i++) wait.accepted()
      wait.sample(0, nowMs)
      expect(wait.waitedMs(nowMs)).toBe(0)
    }
  })

  it('follows from the length of the queue and the rate of arrivals', () => {
    const wait = new AcceptWait(0)
    // One per millisecond arrives, one in five is accepted: after a second 800 wait, the first for 800 ms.
    for (let nowMs = 25; nowMs <= 1000; nowMs += 25) {
      for (let i = 0; i < 5; i++) wait.accepted()
      wait.sample((nowMs / 25) * 20, nowMs)
    }
    expect(wait.waitedMs(1000)).toBeGreaterThan(780)
    expect(wait.waitedMs(1000)).toBeLessThan(850)
    for (let i = 0; i < 790; i++) wait.accepted()
    expect(wait.waitedMs(1010)).toBeLessThan(30)
    for (let i = 0; i < 10; i++) wait.accepted()
    expect(wait.waitedMs(1010)).toBe(0)
  })

  it('is never longer than there has been a queue', () => {
    const wait = new AcceptWait(0)
    wait.sample(0, 1000)
    wait.sample(500, 1025)
    expect(wait.waitedMs(1030)).toBe(30)
  })
})

describe('the queue of the kernel', () => {
  it('is the receive queue of the listening socket, not of its connections', () => {
    const lines = [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      '   0: 0100007F:1F91 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0',
      '   1: 0100007F:1F90 00000000:0000 0A 00000000:00000032 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0',
      '   2: 0100007F:1F92 0100007F:9C40 01 00000000:00000010 00:00000000 00000000     0        0 3 1 0 20 4 30 10 -1',
    ].join('\n')
    expect(queueLengthIn(lines, 8080)).toBe(50)
    expect(queueLengthIn(lines, 8081)).toBe(3)
    expect(queueLengthIn(lines, 8082)).toBeUndefined()
  })

  it.runIf(process.platform === 'linux').each(['127.0.0.1', '::'])(
    'is read on Linux, listening on %s',
    async (host) => {
      const wait = requestWait(systemClock())
      const server = createServer((socket) => socket.on('error', () => {}).resume())
      server.listen(0, host)
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      try {
        const first = connect(port, '127.0.0.1')
        await once(server, 'connection')
        first.destroy()
        // The event loop is blocked meanwhile, so that nothing is accepted.
        const script = `let n = 0
        for (let i = 0; i < 20; i++) require('net').connect(${port}, '127.0.0.1', () => ++n === 20 && process.exit())`
        spawnSync(process.execPath, ['-e', script])
        expect(acceptQueueLength({ port, family: host === '::' ? 'IPv6' : 'IPv4' })).toBe(20)
        expect(wait.ofConnections()).toBeGreaterThan(0)
        await expect.poll(() => wait.ofConnections()).toBe(0)
      } finally {
        wait.stop()
        server.close()
      }
    },
  )
})
