import { FileBacked } from '../connections/file-backed.ts'
import { wrongOption } from '../connections/option-error.ts'
import { parseRedisUrl, type RedisTarget } from '../connections/redis-target.ts'
import type { Options } from './read-options.ts'
import { readRedisTls } from './secrets/tls.ts'
import { readSecret } from './secrets/tokens.ts'

/**
 * The Redis that the options of a command name: by a URL, or by a file that holds it, so that no password is in the
 * environment. User, password and certificates are read again when their files change, and count from the next
 * connection on.
 */
export function redisFrom(options: Options): RedisTarget | undefined {
  const [url, file] = [options.read('redis'), options.read('redis-file')]
  if (file.value === undefined || url.from === '--redis') {
    const tls = readRedisTls(options, url.value)
    return url.value === undefined
      ? undefined
      : { ...parseRedisUrl(url.value, url.from!), ...(tls && { live: { tls } }) }
  }
  const { value: path, from = '--redis-file' } = file
  const text = new FileBacked([path], () => {
    const found = readSecret(path, from)
    if (found === '') throw wrongOption(from, path, 'write the URL into the file: rediss://user:password@host:6379')
    parseRedisUrl(found, from)
    return found
  })
  const tls = readRedisTls(options, text.current)
  return { ...parseRedisUrl(text.current, from), live: { url: text, ...(tls && { tls }) } }
}

/** What of a Redis is read again when its files change. */
export function followedOf(target: RedisTarget | undefined): readonly FileBacked<unknown>[] {
  return [target?.live?.url, target?.live?.tls].filter((each) => each !== undefined)
}
