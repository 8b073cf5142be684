import { connect, type Socket } from 'node:net'

/** A reply of Redis. An error inside an array stays an `Error` in its place. */
export type Reply = string | number | null | Error | Reply[]

/** A connection for the tests' own questions; reconnects by itself and never resends. */
export interface RespClient {
  call(...args: readonly (string | number)[]): Promise<Reply>
  close(): void
}

interface Call {
  resolve(reply: Reply): void
  reject(error: Error): void
}

/** A client for a Redis on a loopback port. A call that gets no answer in time (a frozen server) is rejected. */
export function respClient(port: number, timeoutMs: number = 3000): RespClient {
  let current: { socket: Socket; calls: Call[] } | undefined

  function open(): { socket: Socket; calls: Call[] } {
    const calls: Call[] = []
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const connection = { socket, calls }
    let buffered: Buffer = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk])
      let at = 0
      for (let parsed = parse(buffered, at); parsed !== undefined; parsed = parse(buffered, at)) {
        at = parsed.end
        const call = calls.shift()
        if (parsed.reply instanceof Error) call?.reject(parsed.reply)
        else call?.resolve(parsed.reply)
      }
      buffered = buffered.subarray(at)
      if (calls.length === 0) socket.unref()
    })
    const fail = (error: Error): void => {
      if (current === connection) current = undefined
      for (const call of calls.splice(0)) call.reject(error)
    }
    socket.on('error', fail)
    socket.on('close', () => fail(new Error(`Redis on port ${port} closed the connection`)))
    return connection
  }

  return {
    call(...args) {
      current ??= open()
      const { socket, calls } = current
      let timer: NodeJS.Timeout | undefined
      const answer = new Promise<Reply>((resolve, reject) => {
        calls.push({ resolve, reject })
        // The replies of a connection come in order, so a lost one makes the whole connection useless.
        const late = new Error(`no answer to ${args[0]} from Redis on port ${port} within ${timeoutMs} ms`)
        timer = setTimeout(() => socket.destroy(late), timeoutMs)
        socket.ref()
        socket.write(encode(args))
      })
      return answer.finally(() => clearTimeout(timer))
    },
    close() {
      current?.socket.destroy()
      current = undefined
    },
  }
}

function encode(args: readonly (string | number)[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(String(arg))}\r\n${arg}\r\n`).join('')}`
}

/** One reply from `at` on, or undefined while it has not arrived whole. */
function parse(buffer: Buffer, at: number): { reply: Reply; end: number } | undefined {
  const eol = buffer.indexOf('\r\n', at)
  if (eol === -1) return undefined
  const line = buffer.toString('utf8', at + 1, eol)
  const end = eol + 2
  switch (buffer[at]) {
    case 0x2b: // +
      return { reply: line, end }
    case 0x2d: // -
      return { reply: new Error(line), end }
    case 0x3a: // :
      return { reply: Number(line), end }
    case 0x24: {
      // $
      const length = Number(line)
      if (length < 0) return { reply: null, end }
      if (buffer.length < end + length + 2) return undefined
      return { reply: buffer.toString('utf8', end, end + length), end: end + length + 2 }
    }
    case 0x2a: {
      // *
      const items: Reply[] = []
      let next = end
      for (let i = 0; i < Number(line); i += 1) {
        const item = parse(buffer, next)
        if (item === undefined) return undefined
        items.push(item.reply)
        next = item.end
      }
      return { reply: Number(line) < 0 ? null : items, end: next }
    }
    default:
      throw new Error(`unexpected reply: ${line}`)
  }
}
