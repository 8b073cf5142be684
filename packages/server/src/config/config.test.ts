import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hideSecrets, hideUrl } from '../connections/hide-secrets.ts'
import { parseRedisUrl } from '../connections/redis-target.ts'
import { parsePolicyPlace } from '../policy/place/policy-place.ts'
import { resolveConfig } from './config.ts'

describe('the configuration', () => {
  test('needs nothing, and then stays on this machine', () => {
    expect(resolveConfig({}, {})).toMatchObject({
      host: '127.0.0.1',
      port: 8440,
      portGiven: false,
      grpcPort: undefined,
      redis: undefined,
      policy: { kind: 'example' },
      adminTokens: undefined,
      logLevel: 'info',
      validateOnly: false,
    })
  })

  test('takes flags before variables, and variables in their order', () => {
    const env = {
      SLUICE_PORT: '1',
      PORT: '2',
      REDIS_URL: 'redis://b',
      SLUICE_REDIS: '',
      SLUICE_LOG_LEVEL: 'warn',
      SLUICE_ADMIN_TOKEN: 'long-enough',
    }
    expect(resolveConfig({ port: '3', validate: true }, env)).toMatchObject({
      port: 3,
      portGiven: true,
      validateOnly: true,
    })
    expect(resolveConfig({}, env)).toMatchObject({
      port: 1,
      redis: { url: 'redis://b' },
      logLevel: 'warn',
      adminTokens: { current: [{ name: 'admin', token: 'long-enough' }] },
    })
    expect(resolveConfig({ 'grpc-port': '8081', host: '0.0.0.0' }, env)).toMatchObject({
      grpcPort: 8081,
      grpcHost: '0.0.0.0',
    })
  })

  test('reads the admin token from a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-config-'))
    writeFileSync(join(folder, 'token'), 'secret-from-file\n')
    expect(resolveConfig({ 'admin-token-file': join(folder, 'token') }, {}).adminTokens?.current).toEqual([
      { name: 'admin', token: 'secret-from-file' },
    ])
    rmSync(folder, { recursive: true })
  })

  test('reads a file with the names of the flags, after flags and variables, with the same checks', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-config-'))
    const config = join(folder, 'sluice-config.yaml')
    const write = (text: string) => writeFileSync(config, text)
    write(
      'port: 9000\nredis: redis://b\nlog-level: warn\nrequire-redis: true\ntrusted-proxies: [10.0.0.0/8, 127.0.0.1/32]\n',
    )
    expect(resolveConfig({ config, port: '1' }, { SLUICE_LOG_LEVEL: 'error' })).toMatchObject({
      port: 1,
      redis: { url: 'redis://b' },
      logLevel: 'error',
      withoutRedis: 'end',
      trustedProxies: ['10.0.0.0/8', '127.0.0.1/32'],
    })
    expect(resolveConfig({}, { SLUICE_CONFIG: config }).port).toBe(9000)
    write('port: 70000\n')
    expect(() => resolveConfig({ config }, {})).toThrow(`port in ${config} is "70000"; use a port`)
    write('prot: 1\n')
    expect(() => resolveConfig({ config }, {})).toThrow('it has "prot", which is no option; did you mean port?')
    write('redis: { host: a }\n')
    expect(() => resolveConfig({ config }, {})).toThrow('give redis a text, a number')
    write('port: [\n')
    expect(() => resolveConfig({ config }, {})).toThrow('it cannot be read as YAML or JSON')
    rmSync(folder, { recursive: true })
  })

  test('takes a link to older figures that a browser may open, and shows no password of it', () => {
    const link = 'https://grafana.example/d/sluice?from=now-7d'
    expect(resolveConfig({}, { SLUICE_HISTORY_URL: link }).historyUrl).toBe(link)
    for (const url of ['javascript:alert(1)', 'grafana.example', 'ftp://a', `https://a/${'x'.repeat(2000)}`])
      expect(() => resolveConfig({ 'history-url': url }, {})).toThrow(/--history-url is ".*"; use an address such as/)
    expect(() => resolveConfig({ 'history-url': 'https://me:hunter2@a' }, {})).toThrow(
      '"https://...@a"; use an address',
    )
  })

  test('takes secrets from files, and refuses certificates for a Redis without TLS', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-config-'))
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const url = file('redis', 'redis://u:p@h\n')
    expect(resolveConfig({}, { SLUICE_REDIS_FILE: url }).redis).toMatchObject({ url: 'redis://u:p@h' })
    expect(resolveConfig({ redis: 'redis://flag' }, { SLUICE_REDIS_FILE: url }).redis).toMatchObject({
      url: 'redis://flag',
    })
    const policy = file('policy', 'postgres://u:p@h/db?service=shop\n')
    expect(resolveConfig({ 'policy-url-file': policy }, {}).policy).toMatchObject({ kind: 'postgres', service: 'shop' })
    const key = file('key', 'Bearer vendor\n')
    const { proxyCredentials } = resolveConfig({ 'proxy-credentials': `vendor:authorization=@${key}` }, {})
    expect(proxyCredentials.current).toEqual({ vendor: { authorization: 'Bearer vendor' } })
    expect(() => resolveConfig({ redis: 'redis://h', 'redis-ca': key }, {})).toThrow('it needs a Redis with TLS')
    expect(() => resolveConfig({ redis: 'rediss://h', 'redis-cert': key }, {})).toThrow('give the private key too')
    rmSync(folder, { recursive: true })
  })

  test.each(['admin-token-file', 'decide-token-file'])(
    'refuses an empty %s instead of doing without a token',
    (option) => {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-config-'))
      writeFileSync(join(folder, 'token'), ' \n')
      expect(() => resolveConfig({ [option]: join(folder, 'token') }, {})).toThrow(
        `--${option} is "***"; use at least 8`,
      )
      rmSync(folder, { recursive: true })
    },
  )

  test('a database of the environment is an optional place for a policy', () => {
    const { policy } = resolveConfig({}, { DATABASE_URL: 'postgres://db/app', SLUICE_SERVICE: 'shop' })
    expect(policy).toEqual({
      kind: 'postgres',
      url: 'postgres://db/app',
      service: 'shop',
      table: undefined,
      optional: true,
    })
  })

  test.each([
    [{ port: '70000' }, {}, '--port is "70000"; use a port from 1 to 65535'],
    [{ port: 'http' }, {}, '--port is "http"'],
    [{}, { SLUICE_GRPC_PORT: '-1' }, 'SLUICE_GRPC_PORT is "-1"'],
    [{ 'log-level': 'loud' }, {}, '--log-level is "loud"; use one of trace, debug'],
    [{ redis: 'http://x' }, {}, '--redis is "http://x"; use redis://'],
    [{ redis: 'redis+sentinel://a:1' }, {}, 'name the master group'],
    [{ redis: 'redis://h/one' }, {}, 'a database is a number, such as /0'],
    [{ redis: 'redis://h/1/2' }, {}, 'a database is a number, such as /0'],
    [{ redis: 'redis+sentinel://a:1/mymaster/one' }, {}, 'a database is a number, such as /master/0'],
    [{ redis: 'redis+cluster://a:1/1' }, {}, 'a cluster has only database 0'],
    [{ policy: 'ftp://x' }, {}, '--policy is "ftp://x"; use a file'],
    [{ prot: '1' }, {}, 'there is no such option'],
    [{ port: true }, {}, 'give it a value'],
    [{}, { SLUICE_ADMIN_TOKEN: 'short' }, 'SLUICE_ADMIN_TOKEN is "***"; use at least 8 characters'],
    [{ 'admin-token-file': '/nothing/here' }, {}, 'give a file that can be read'],
    [{ deadline: '0' }, {}, '--deadline is "0"'],
    [{}, { SLUICE_DEADLINE: '2m' }, 'SLUICE_DEADLINE is "2m"; use a time such as 500ms or 5s'],
    [{}, { SLUICE_REPLICAS: 'two' }, 'SLUICE_REPLICAS is "two"'],
  ])('%j %j fails and says what would be right', (flags, env, message) => {
    expect(() => resolveConfig(flags, env)).toThrow(message)
  })

  test.each([
    ['SLUICE_TLS_CERT_FILE', 'SLUICE_TLS_CERT'],
    ['SLUICE_TLS_KEY_FILE', 'SLUICE_TLS_KEY'],
    ['SLUICE_TLS_CLIENT_CA_FILE', 'SLUICE_TLS_CLIENT_CA'],
    ['SLUICE_TLS_CA', 'SLUICE_TLS_CERT, SLUICE_TLS_KEY or SLUICE_TLS_CLIENT_CA'],
    ['SLUICE_TSL_CERT', 'SLUICE_TLS_CERT'],
    ['SLUICE_COLLECT_TOKN', 'SLUICE_COLLECT_TOKEN'],
    ['SLUICE_COLECT_TOKEN', 'SLUICE_COLLECT_TOKEN'],
    ['SLUICE_REQUIRED_REDIS', 'SLUICE_REQUIRE_REDIS'],
    ['SLUICE_PROXY_CREDENTIAL', 'SLUICE_PROXY_CREDENTIALS'],
    ['SLUICE_FORWARDED', 'SLUICE_FORWARDED_BY'],
    ['SLUICE_ADMN_TOKEN', 'SLUICE_ADMIN_TOKEN'],
    ['SLUICE_REDIS_URI', 'SLUICE_REDIS_URL'],
  ])('%s is refused, with what was meant', (name, meant) => {
    expect(() => resolveConfig({}, { [name]: 'x' })).toThrow(
      `${name} is "***"; there is no such variable; did you mean ${meant}?`,
    )
  })

  test.each(['SLUICE_LOGLEVEL', 'SLUICE_HOSTNAME', 'SLUICE_SOMETHING'])('%s is only reported', (name) => {
    expect(resolveConfig({}, { [name]: 'x' }).warnings).toEqual([expect.stringContaining(name)])
  })

  test.each(['SLUICE_PROXY_SERVICE_HOST', 'SLUICE_COLLECT_PORT_8450_TCP_ADDR', 'SLUICE_TLS_PORT'])(
    '%s is of Kubernetes and not even reported',
    (name) => {
      expect(resolveConfig({}, { [name]: 'tcp://10.0.0.1:1' }).warnings).toEqual([])
    },
  )

  test('no error shows a password', () => {
    expect(() => resolveConfig({ redis: 'redis+foo://:hunter2@h' }, {})).toThrow(
      expect.not.stringContaining('hunter2') as never,
    )
  })
})

describe('places', () => {
  test.each([
    ['redis://u:p@h:1/2', { kind: 'single', url: 'redis://u:p@h:1/2' }],
    [
      'redis+sentinel://:p%40ss@a,b:7/mymaster/3?sentinelPassword=s',
      {
        kind: 'sentinel',
        hosts: [
          { host: 'a', port: 26379 },
          { host: 'b', port: 7 },
        ],
        master: 'mymaster',
        access: { db: 3, password: 'p@ss', sentinelPassword: 's', tls: false },
      },
    ],
    [
      'rediss+cluster://[::1]:7,b',
      {
        kind: 'cluster',
        hosts: [
          { host: '::1', port: 7 },
          { host: 'b', port: 6379 },
        ],
        access: { tls: true },
      },
    ],
  ])('%s is a Redis', (url, expected) => {
    expect(parseRedisUrl(url, '--redis')).toMatchObject(expected)
  })

  test.each([
    ['sluice.yaml', { kind: 'file', path: 'sluice.yaml' }],
    ['file:///etc/a%20b.yaml', { kind: 'file', path: '/etc/a b.yaml' }],
    ['redis://h/1?key=k', { kind: 'redis', target: { url: 'redis://h/1' }, key: 'k' }],
    ['redis://h', { kind: 'redis', key: 'sluice:policy:shop' }],
    [
      'postgresql://h/db?sslmode=require&service=s&table=t',
      { kind: 'postgres', url: 'postgresql://h/db?sslmode=require', service: 's', table: 't' },
    ],
    ['mongodb://a,b/db?replicaSet=r', { kind: 'mongodb', url: 'mongodb://a,b/db?replicaSet=r', service: 'shop' }],
  ])('%s is a policy', (text, expected) => {
    expect(parsePolicyPlace(text, 'shop', '--policy')).toMatchObject(expected)
  })

  test.each(['/', '#', '?', '@', ' ', '\\\\', '/?#@'])('no part of a password with %s in it is shown', (sign) => {
    const password = `sek${sign}ret`
    const urls = ['redis', 'rediss', 'redis+cluster', 'redis+sentinel', 'postgres', 'mongodb', 'ftp'].flatMap(
      (scheme) => [`${scheme}://user:${password}@h:99999/db?service=s`, `${scheme}://${password}@h/db?key=k`],
    )
    const messageOf = (read: () => unknown) => {
      try {
        return JSON.stringify(read())
      } catch (error) {
        return (error as Error).message
      }
    }
    for (const url of urls) {
      expect(hideSecrets(`at ${url}: refused`.replaceAll(' ret', '_ret')), url).not.toMatch(/sek|ret/)
      expect(hideUrl(url), url).not.toMatch(/sek|ret/)
      if (!url.startsWith('redis')) continue
      const shown = messageOf(() => parseRedisUrl(url, '--redis'))
      if (shown.startsWith('--redis')) expect(shown, url).not.toMatch(/sek|ret/)
    }
    const refused = ['/', '#', '?'].some((end) => sign.startsWith(end))
    for (const url of urls.filter(() => refused)) {
      const shown = messageOf(() => parsePolicyPlace(url, 's', '--policy'))
      expect(shown, url).toMatch(/^--policy is "[a-z+]+:\/\/\*\*\*@/)
      expect(shown, url).not.toMatch(/sek|ret/)
    }
  })

  test('secrets of URLs are hidden', () => {
    expect(hideSecrets('at redis://user:pass@h/1?sentinelPassword=x&key=k now')).toBe(
      'at redis://***@h/1?sentinelPassword=***&key=k now',
    )
  })
})
