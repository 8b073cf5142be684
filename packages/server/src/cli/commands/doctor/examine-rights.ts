import type { Cluster, Redis } from 'ioredis'
import { type Finding, ok, problem, warning } from './finding.ts'
import { failed } from './remedies.ts'

/**
 * What the scripts of the parts run, each with arguments that leave nothing behind: a key of a text, a hash, a sorted
 * set and a stream.
 */
export const probes: readonly (readonly (string | number)[])[] = [
  ['SET', 's', '1', 'PX', 1000],
  ['GET', 's'],
  ['GETRANGE', 's', 0, 0],
  ['MGET', 's'],
  ['APPEND', 's', ''],
  ['EXISTS', 's'],
  ['TYPE', 's'],
  ['PTTL', 's'],
  ['PEXPIRE', 's', 1000],
  ['PEXPIREAT', 's', 1],
  ['HSET', 'h', 'f', '1'],
  ['HGET', 'h', 'f'],
  ['HMGET', 'h', 'f'],
  ['HGETALL', 'h'],
  ['HINCRBY', 'h', 'f', 1],
  ['HKEYS', 'h'],
  ['HLEN', 'h'],
  ['HSCAN', 'h', 0],
  ['HDEL', 'h', 'f'],
  ['ZADD', 'z', 1, 'm'],
  ['ZCARD', 'z'],
  ['ZCOUNT', 'z', 0, 1],
  ['ZLEXCOUNT', 'z', '-', '+'],
  ['ZRANGE', 'z', 0, 0],
  ['ZRANGEBYLEX', 'z', '-', '+'],
  ['ZRANGEBYSCORE', 'z', 0, 1],
  ['ZSCORE', 'z', 'm'],
  ['ZREMRANGEBYRANK', 'z', 1, 1],
  ['ZREMRANGEBYSCORE', 'z', 2, 2],
  ['ZREM', 'z', 'm'],
  ['XADD', 'x', '*', 'f', '1'],
  ['UNLINK', 'x'],
  ['DEL', 'x', 's', 'h', 'z'],
  ['TIME'],
  ['INFO', 'server'],
]

const probeScript = `
local names = { s = KEYS[1], h = KEYS[2], z = KEYS[3], x = KEYS[4] }
local refused = {}
for _, probe in ipairs(cjson.decode(ARGV[1])) do
  local words = {}
  for n, word in ipairs(probe) do words[n] = n > 1 and names[word] or word end
  local reply = redis.pcall(unpack(words))
  if type(reply) == 'table' and reply.err then refused[#refused + 1] = { probe[1], reply.err } end
end
return cjson.encode(refused)`

/** Tries what the parts will do as this user: their keys, their commands, their messages. */
export async function examineRights(client: Redis | Cluster, prefix: string): Promise<Finding[]> {
  const findings = await examineKeys(client, prefix)
  return [...findings, await examineMessages(client, prefix)]
}

async function examineKeys(client: Redis | Cluster, prefix: string): Promise<Finding[]> {
  const key = `${prefix}#doctor{doctor}`
  try {
    await client.eval("redis.call('SET', KEYS[1], '1', 'PX', 1)", 1, key)
  } catch (error) {
    return [failed('keys', `writing ${key} failed: `, error as Error, prefix)]
  }
  const keys = ['s', 'h', 'z', 'x'].map((kind) => `${key}${kind}`)
  const reply = await client.eval(probeScript, keys.length, ...keys, JSON.stringify(probes))
  const refused = JSON.parse(String(reply)) as [string, string][] | Record<string, never>
  return [
    Array.isArray(refused) && refused.length > 0 ? missingCommands(refused) : ok('commands', 'this user may run all'),
    await examineTagged(client, prefix),
  ]
}

function missingCommands(refused: readonly (readonly [string, string])[]): Finding {
  const names = refused.map(([name]) => name.toLowerCase())
  const right = refused.every(([, error]) => /NOPERM|ACL failure|executing the script/.test(error))
  return problem(
    'commands',
    `refused: ${names.join(', ')} (${refused[0]![1]})`,
    right
      ? `let this user run them: ACL SETUSER USER ${names.map((name) => `+${name}`).join(' ')}`
      : 'allow them in its configuration: rename-command or a provider took them away',
  )
}

/** Cache and presence put the prefix into a hash tag, which a pattern for the prefix does not cover. */
async function examineTagged(client: Redis | Cluster, prefix: string): Promise<Finding> {
  const covered = `this user may use keys that begin with ${prefix}`
  if (prefix.startsWith('{')) return ok('keys', covered)
  try {
    await client.eval("redis.call('SET', KEYS[1], '1', 'PX', 1)", 1, `{${prefix}#doctor}`)
    return ok('keys', covered)
  } catch (error) {
    const mend = `let this user use them: ACL SETUSER USER ~{${prefix}*; a limiter alone does without`
    return warning(
      'keys',
      `${covered}, but not {${prefix}, as cache and presence do: ${(error as Error).message}`,
      mend,
    )
  }
}

/** Policies in Redis, reports and the invalidations of caches come as messages. */
async function examineMessages(client: Redis | Cluster, prefix: string): Promise<Finding> {
  const channel = `${prefix}#doctor`
  const subscriber = (client as Redis).duplicate()
  subscriber.on('error', () => {})
  try {
    await subscriber.subscribe(channel)
    await client.publish(channel, '')
    return ok('messages', `this user may use channels that begin with ${prefix}`)
  } catch (error) {
    const { mend } = failed('messages', '', error as Error, prefix)
    const text = `no messages, which caches, presence and policies in Redis need: ${(error as Error).message}`
    return warning('messages', text, mend!)
  } finally {
    subscriber.disconnect()
  }
}
