import { describe, expect, test } from 'vitest'
import { isSecretName } from '../../../../../server/src/recent/replay/secret-names.ts'
import { parseCurl } from './parse-curl.ts'
import { readInput } from './read-input.ts'
import { forLink, secretHeaders } from './request.ts'
import { shellWords } from './shell-words.ts'

describe('a command line is split as bash does', () => {
  test.each([
    [`a 'b c' "d e"`, ['a', 'b c', 'd e']],
    [`a\\ b 'it'\\''s'`, ['a b', "it's"]],
    [`"say \\"hi\\" \\n" '\\n'`, ['say "hi" \\n', '\\n']],
    [`$'it\\'s\\n\\u00e9\\x41'`, ["it's\néA"]],
    [`a \\\n b \\\r\n c`, ['a', 'b', 'c']],
    [`-H'x: 1'"2"`, ['-Hx: 12']],
    [`a ''`, ['a', '']],
    [`"line\\\nbreak"`, ['linebreak']],
  ])('%s', (text, words) => expect(shellWords(text).words).toEqual(words))

  test.each([
    ['curl x | rm -rf /', 'What stands after | is left out.'],
    ['curl x; reboot', 'What stands after ; is left out.'],
    ['curl x > /etc/passwd', 'What stands after > is left out.'],
    ['curl -H "a: $TOKEN"', '$TOKEN is taken as it is written.'],
    ['curl -H "a: $(whoami)"', 'A command in the text is taken as it is written.'],
    ['curl "x', 'A quotation mark is not closed.'],
  ])('%s is never run', (text, note) => expect(shellWords(text).notes).toContain(note))

  test('a second line is another command', () => expect(shellWords('curl x\ncurl y').words).toEqual(['curl', 'x']))
})

describe('a curl command is read', () => {
  const read = (text: string) => parseCurl(text).request

  test('as a browser copies it', () => {
    const text = `curl 'https://api.example/v1/analyze?lang=en&lang=de' \\
  -H 'Accept: application/json' \\
  -H 'x-tenant: acme' \\
  -b 'session=1' \\
  --data-raw $'{"text":"it\\'s"}' \\
  -H 'content-type: application/json' --compressed`
    expect(read(text)).toEqual({
      method: 'POST',
      path: '/v1/analyze',
      query: { lang: ['en', 'de'] },
      headers: {
        host: 'api.example',
        accept: 'application/json',
        'user-agent': 'curl',
        'x-tenant': 'acme',
        cookie: 'session=1',
        'content-type': 'application/json',
      },
      body: { text: "it's" },
    })
  })

  test.each([
    ['curl localhost:3000/a/b', { method: 'GET', path: '/a/b', headers: { host: 'localhost:3000' } }],
    ['curl -sSXPOST http://h/x', { method: 'POST', path: '/x' }],
    ['curl -X DELETE --url http://h/x', { method: 'DELETE' }],
    [
      'curl http://h/ -d a=1 -d b=2',
      { method: 'POST', body: { a: '1', b: '2' }, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    ],
    ['curl -G http://h/s -d q=a+b --data-urlencode "t=x y"', { method: 'GET', query: { q: 'a b', t: 'x y' } }],
    [
      `curl --json '{"n":1}' http://h/`,
      { method: 'POST', body: { n: 1 }, headers: { accept: 'application/json', 'content-type': 'application/json' } },
    ],
    ['curl -u user:päss http://h/', { headers: { authorization: 'Basic dXNlcjpww6Rzcw==' } }],
    ['curl -uuser:pw http://h/', { headers: { authorization: 'Basic dXNlcjpwdw==' } }],
    ['curl -I http://h/', { method: 'HEAD' }],
    ['curl -H "X-Empty;" -H "x: 1" -H "x: 2" http://h/', { headers: { 'x-empty': '', x: ['1', '2'] } }],
    ['curl -o out --max-time 5 http://h/p', { path: '/p' }],
    ['curl -- http://h/p', { path: '/p' }],
    ['curl http://h/a/../b', { path: '/b' }],
    ['curl --oauth2-bearer abc http://h/', { headers: { authorization: 'Bearer abc' } }],
    ['/usr/bin/curl http://h/x', { path: '/x' }],
  ])('%s', (text, request) => expect(read(text)).toMatchObject(request))

  test('a header that is removed is not sent', () => {
    expect(read('curl -H "Accept:" http://h/').headers).not.toHaveProperty('accept')
  })

  test.each([
    ['curl -d @secret.json http://h/', 'The file secret.json is not read.'],
    ['curl -T dump.bin http://h/', 'The file dump.bin is not read.'],
    ['curl -b jar.txt http://h/', 'The file jar.txt is not read.'],
    ['curl -F a=@x http://h/', 'A multipart body is left out.'],
    ['curl http://h/ --next http://h/2', 'Only the first request is looked at.'],
    [`curl --json '{' http://h/`, 'The body is not valid JSON.'],
    ['curl -s', 'The command has no address.'],
  ])('%s says what is left out', (text, note) => expect(parseCurl(text).notes).toContain(note))
})

describe('the kind of the input is recognised', () => {
  test.each([
    ['', { kind: 'nothing' }],
    ['acme', { kind: 'key', key: 'acme' }],
    ['acme / en', { kind: 'key', key: ['acme', 'en'] }],
    ['["a/b", 1]', { kind: 'key', key: ['a/b', 1] }],
    ['shop/per-tenant/acme', { kind: 'full-key', key: 'shop/per-tenant/acme' }],
    ['<img src=x onerror=alert(1)>', { kind: 'key', key: '<img src=x onerror=alert(1)>' }],
    ['/v1/x?a=1', { kind: 'request', request: { method: 'GET', path: '/v1/x', query: { a: '1' } } }],
    [
      'POST /v1/x HTTP/1.1\r\nHost: h\r\nX-Tenant: acme\r\n\r\n{"a":1}',
      { kind: 'request', from: 'HTTP', request: { headers: { host: 'h', 'x-tenant': 'acme' }, body: { a: 1 } } },
    ],
    ['{"method":"PUT","path":"/x"}', { kind: 'request', from: 'JSON', request: { method: 'PUT' } }],
    ['{"request":{"path":"/x"}}', { kind: 'request', request: { method: 'GET', path: '/x' } }],
    ['{"path":', { kind: 'wrong' }],
    ['[{}]', { kind: 'wrong' }],
    ['two\nlines', { kind: 'wrong' }],
  ])('%j', (text, input) => expect(readInput(text, 'shop')).toMatchObject(input))
})

test('a service may have a name that keys escape', () => {
  expect(readInput('my%0020shop/per-tenant/acme', 'my shop')).toMatchObject({ kind: 'full-key' })
})

test('a link contains no credentials', () => {
  const { request } = parseCurl('curl -u a:b -b session=1 -H "X-Api-Key: k" -H "x-tenant: acme" http://h/')
  expect(Object.keys(forLink(request).headers)).toEqual(['host', 'accept', 'user-agent', 'x-tenant'])
})

test('what the daemon takes for a secret is one here, too', () => {
  const names = [
    'x-auth',
    'x-access-key',
    'x-credential',
    'x-private',
    'passw',
    'x-api-key',
    'cookie',
    'x-tenant',
    'host',
  ]
  const headers = Object.fromEntries(names.map((name) => [name, 'value']))
  expect(secretHeaders({ method: 'GET', path: '/', headers })).toEqual(names.filter(isSecretName))
})
