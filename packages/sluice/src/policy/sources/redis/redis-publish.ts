import type { PolicyArchive } from '../archive.ts'
import { type PolicyRedisClient, type RedisCommands, redisCommands } from './redis-client.ts'

export interface RedisPolicyPlace {
  /** The Redis key that holds the policy: a hash with `document` and `revision`, or a string with the document alone. */
  readonly key: string
  /** Where changes are announced; `<key>:changed` unless said otherwise. */
  readonly channel?: string
}

/** How many versions are kept in the hash, the one in force included. */
const versionsKept = 10

/*
 * KEYS[1] the policy  ARGV[1] the document as text  ARGV[2] the channel  ARGV[3] how many versions to keep
 * Reply: the revision. It is the server's time in milliseconds, or one more than the last one: it grows even if everything was lost.
 * Versions lie in the same hash (`v:<revision>`), so that one key, and one slot of a cluster, holds all of it.
 */
const publish = `
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'hash' and kind ~= 'string' and kind ~= 'none' then
  return redis.error_reply('WRONGTYPE the key holds a ' .. kind .. ', which is no policy')
end
local time = redis.call('TIME')
local revision = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local kept = {}
if kind == 'hash' then
  local last = tonumber(redis.call('HGET', KEYS[1], 'revision') or '') or 0
  revision = math.max(revision, last + 1)
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    local number = string.match(field, '^v:(%d+)$')
    if number then kept[#kept + 1] = tonumber(number) end
  end
  table.sort(kept)
elseif kind == 'string' then
  local former = redis.call('GET', KEYS[1])
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], string.format('v:%.0f', revision - 1), former)
end
for i = 1, #kept - tonumber(ARGV[3]) + 1 do
  redis.call('HDEL', KEYS[1], string.format('v:%.0f', kept[i]))
end
local text = string.format('%.0f', revision)
redis.call('HSET', KEYS[1], 'revision', text, 'document', ARGV[1], 'v:' .. text, ARGV[1])
redis.call('PUBLISH', ARGV[2], text)
return text
`

/**
 * Puts a policy in Redis and announces it to every replica that follows it; returns its revision.
 *
 * @example
 * await publishRedisPolicy(redis, { key: 'sluice:policy:shop' }, document)
 */
export async function publishRedisPolicy(
  client: PolicyRedisClient,
  place: RedisPolicyPlace,
  document: unknown,
): Promise<number> {
  return publishTo(redisCommands(client), place, document)
}

async function publishTo(
  redis: RedisCommands,
  { key, channel = channelOf(key) }: RedisPolicyPlace,
  document: unknown,
): Promise<number> {
  const text = typeof document === 'string' ? document : JSON.stringify(document)
  return Number(await redis.run(publish, key, text, channel, String(versionsKept)))
}

export function channelOf(key: string): string {
  return `${key}:changed`
}

export function redisArchive(redis: RedisCommands, place: RedisPolicyPlace): PolicyArchive {
  return {
    push: (document) => publishTo(redis, place, document),
    async history(limit) {
      const fields = await redis.allFields(place.key)
      return Object.entries(fields)
        .flatMap(([field, document]) => (/^v:\d+$/.test(field) ? [{ revision: Number(field.slice(2)), document }] : []))
        .sort((a, b) => b.revision - a.revision)
        .slice(0, limit)
        .map(({ revision, document }) => ({ revision, createdAt: new Date(revision), document }))
    },
  }
}
