import { invalidOption } from '../../../core/errors.ts'

/** As much of an ioredis client as a policy needs: one server, Sentinel or Cluster. */
export interface IoredisPolicyClient {
  hmget(key: string, ...fields: string[]): Promise<(string | null)[]>
  hgetall(key: string): Promise<Record<string, string>>
  get(key: string): Promise<string | null>
  eval(script: string, numkeys: number, ...args: string[]): Promise<unknown>
  duplicate(...args: never[]): unknown
}

/** As much of a node-redis client as a policy needs: one server, Sentinel or Cluster. */
export interface NodeRedisPolicyClient {
  hmGet(key: string, fields: string[]): Promise<unknown>
  hGetAll(key: string): Promise<unknown>
  get(key: string): Promise<unknown>
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  duplicate(...args: never[]): unknown
}

/** A client of Redis or Valkey that a service already has. */
export type PolicyRedisClient = IoredisPolicyClient | NodeRedisPolicyClient

/** The same few commands, whichever client answers them. */
export interface RedisCommands {
  fields(key: string, ...names: string[]): Promise<(string | null)[]>
  allFields(key: string): Promise<Record<string, string>>
  text(key: string): Promise<string | null>
  run(script: string, key: string, ...args: string[]): Promise<unknown>
  /**
   * Subscribes over a connection of its own. `heard` is called for every message, whenever the subscription begins (also again after
   * the client has reconnected), and when the connection is lost, so that whoever reads learns of it too; `over` when the client has
   * given up.
   */
  subscribe(channel: string, heard: () => void, over: () => void): () => void
}

/** Finds out which of the two clients this is by the methods it has. */
export function redisCommands(client: PolicyRedisClient): RedisCommands {
  if (typeof (client as NodeRedisPolicyClient)?.hmGet === 'function') return nodeRedis(client as NodeRedisPolicyClient)
  if (typeof (client as IoredisPolicyClient)?.hmget === 'function') return ioredis(client as IoredisPolicyClient)
  throw invalidOption('client', client, 'give a client of ioredis or node-redis')
}

interface Emitter {
  on(event: string, listener: (...args: never[]) => void): unknown
}

interface IoredisSubscriber extends Emitter {
  readonly status: string
  connect(): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  disconnect(): void
}

function ioredis(client: IoredisPolicyClient): RedisCommands {
  return {
    fields: (key, ...names) => client.hmget(key, ...names),
    allFields: (key) => client.hgetall(key),
    text: (key) => client.get(key),
    run: (script, key, ...args) => client.eval(script, 1, key, ...args),
    subscribe(channel, heard, over) {
      const own = client.duplicate() as IoredisSubscriber
      own.on('error', ignore)
      own.on('end', over)
      own.on('close', heard)
      own.on('message', heard)
      // Anew for each connection, whether or not the client does so by itself.
      const subscribe = (): void => void own.subscribe(channel).then(heard, ignore)
      own.on('ready', subscribe)
      if (own.status === 'wait') own.connect().catch(ignore)
      else if (own.status === 'ready') subscribe()
      return () => own.disconnect()
    },
  }
}

interface NodeRedisSubscriber extends Emitter {
  connect(): Promise<unknown>
  subscribe(channel: string, listener: () => void): Promise<unknown>
  destroy(): unknown
}

function nodeRedis(client: NodeRedisPolicyClient): RedisCommands {
  return {
    fields: async (key, ...names) => (await client.hmGet(key, names)) as (string | null)[],
    allFields: async (key) => (await client.hGetAll(key)) as Record<string, string>,
    text: async (key) => (await client.get(key)) as string | null,
    run: (script, key, ...args) => client.eval(script, { keys: [key], arguments: args }),
    subscribe(channel, heard, over) {
      const own = client.duplicate() as NodeRedisSubscriber
      let up = false
      let ended = false
      let destroyed = false
      const destroy = (): void => {
        if (!destroyed) own.destroy()
        destroyed = true
      }
      const becomes = (isUp: boolean) => (): void => {
        up = isUp
        // A client that is destroyed in the midst of connecting leaves its socket open; now it is not.
        if (ended) destroy()
        else heard()
      }
      own.on('error', becomes(false))
      own.on('ready', becomes(true))
      own.on('end', () => ended || over())
      own
        .connect()
        // From now on it also subscribes by itself whenever it has reconnected.
        .then(async () => {
          up = true
          if (ended) destroy()
          else await own.subscribe(channel, heard).then(heard)
        })
        .catch(() => ended || over())
      return () => {
        ended = true
        if (up) destroy()
      }
    },
  }
}

function ignore(): void {}
