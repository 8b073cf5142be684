import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

interface Generator {
  scriptSource(file: string, read: (file: string) => string): string
}
const generatorFile = '../../scripts/lua.mjs'
const { scriptSource } = (await import(generatorFile)) as Generator

const source = (path: string): string => fileURLToPath(new URL(`../../packages/sluice/src/${path}`, import.meta.url))
const decide = source('stores/redis/lua/decide.lua')
const server = source('redis/lua/server.lua')

/** Takes the time from one argument more than `decide.lua` has; keys expire by the server's own clock. */
export const virtualClock = `
local call = redis.call
local clock = tonumber(table.remove(ARGV))
`

/**
 * Takes the time from an argument, and leaves expiry to the test: the TTL of a key is stored at `ttl:<key>`. Counts at
 * `short` the calls that a fast path decided: where it cannot, the general path reads all keys once more.
 */
export const virtualTime = `
local clock, reads = tonumber(table.remove(ARGV)), 0
local function call(command, ...)
  if (command == 'MGET' or command == 'GET') and (#ARGV ~= 4 or ARGV[4] ~= '') then
    redis.call(reads == 0 and 'INCR' or 'DECR', 'short')
    reads = reads + 1
  end
  if command ~= 'SET' then return redis.call(command, ...) end
  local key, value, how, life = ...
  redis.call('SET', key, value)
  if how == 'PX' then redis.call('SET', 'ttl:' .. key, life) end
end
`

/** `decide.lua` with another prelude in place of `server.lua`; nothing else is changed. */
export function decideWithPrelude(prelude: string): string {
  return scriptSource(decide, (file) => (file === server ? prelude : readFileSync(file, 'utf8')))
}
