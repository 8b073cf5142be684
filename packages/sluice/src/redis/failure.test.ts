import { expect, test } from 'vitest'
import { StoreError } from '../core/errors.ts'
import { isMissingScript, isOnTheMove, redisFailure } from './failure.ts'

const coded = (code: string, message = code): Error => Object.assign(new Error(message), { code })

test.each([
  ["READONLY You can't write against a read only replica.", 'readonly'],
  ["-READONLY You can't write against a read only replica.", 'readonly'],
  ['ERR Error running script: @user_script: READONLY no write', 'readonly'],
  ['MISCONF Redis is configured to save RDB snapshots', 'readonly'],
  ['MASTERDOWN Link with MASTER is down', 'readonly'],
  ['NOREPLICAS Not enough good replicas to write.', 'readonly'],
  ['LOADING Redis is loading the dataset in memory', 'loading'],
  ['BUSY Redis is busy running a script.', 'busy'],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'oom'],
  ["ERR user_script:1: -OOM command not allowed when used memory > 'maxmemory'. script: abc", 'oom'],
  ['MOVED 3999 127.0.0.1:6381', 'cluster'],
  ['ASK 3999 127.0.0.1:6381', 'cluster'],
  ['TRYAGAIN Multiple keys request during rehashing of slot', 'cluster'],
  ['CLUSTERDOWN The cluster is down', 'cluster'],
  ["CROSSSLOT Keys in request don't hash to the same slot", 'cluster'],
  ['WRONGTYPE Operation against a key holding the wrong kind of value', 'wrongtype'],
  ['NOAUTH Authentication required.', 'auth'],
  ['WRONGPASS invalid username-password pair or user is disabled.', 'auth'],
  ["NOPERM this user has no permissions to run the 'evalsha' command", 'auth'],
  ["Stream isn't writeable and enableOfflineQueue options is false", 'connection'],
  ['Connection is closed.', 'connection'],
  ['Reached the max retries per request limit (which is 0).', 'connection'],
  ["Socket timeout. Expecting data, but didn't receive any in 400ms.", 'timeout'],
  ['All sentinels are unreachable. Retrying from scratch after 27ms.', 'connection'],
  ['no valid master node', 'connection'],
  ['The client is closed', 'connection'],
  ['ERR user_script:480: Script attempted to access nonexistent global variable', 'script'],
  ['something nobody has thought of', 'other'],
] as const)('%s is %s', (message, kind) => {
  expect(redisFailure(new Error(message)).kind).toBe(kind)
})

test.each([
  ['ECONNREFUSED', 'refused'],
  ['ETIMEDOUT', 'timeout'],
  ['ECONNRESET', 'connection'],
  ['EPIPE', 'connection'],
  ['ENOTFOUND', 'connection'],
  ['EHOSTUNREACH', 'connection'],
] as const)('an error with code %s is %s', (code, kind) => {
  expect(redisFailure(coded(code)).kind).toBe(kind)
})

test('keeps what it came from, and lets its own errors through', () => {
  const cause = new Error('READONLY no')
  expect(redisFailure(cause).cause).toBe(cause)
  const own = new StoreError('timeout', 'late')
  expect(redisFailure(own)).toBe(own)
})

test.each([undefined, null, 'text', 7, {}])('whatever is thrown becomes an error: %o', (thrown) => {
  expect(redisFailure(thrown)).toBeInstanceOf(StoreError)
})

test('knows what a server says it did not run', () => {
  expect(isMissingScript(new Error('NOSCRIPT No matching script.'))).toBe(true)
  expect(isOnTheMove(new Error('TRYAGAIN Multiple keys request during rehashing of slot'))).toBe(true)
  expect(isMissingScript(new Error('Connection is closed.'))).toBe(false)
  expect(isOnTheMove(new Error('Connection is closed.'))).toBe(false)
})
