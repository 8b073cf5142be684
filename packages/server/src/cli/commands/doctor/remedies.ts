import type { Finding } from './finding.ts'

type Remedy = readonly [error: RegExp, mend: string, level?: Finding['level']]

/** What an error of Redis or of the connection asks for. The first that fits; `$1` is the group of the expression. */
const remedies: readonly Remedy[] = [
  [
    /DB index is out of range/,
    'name a database that it has: redis://HOST:PORT/0; CONFIG GET databases',
    'not-permitted',
  ],
  [/SELECT is not allowed/, 'leave the database out of the URL: a cluster has only database 0', 'not-permitted'],
  [
    /(?:NOPERM|ACL failure).*'select'/,
    'let this user select it: ACL SETUSER USER +select; or use database 0',
    'not-permitted',
  ],
  [
    /(?:NOPERM|ACL failure).*'([a-z|]+)'/i,
    'let this user run $1: ACL SETUSER USER +$1; docs/redis.md lists all commands',
  ],
  [
    /(?:NOPERM|ACL failure|executing the script).*\bkeys?\b/i,
    'let this user use these keys: ACL SETUSER USER ~PREFIX*',
  ],
  [/(?:NOPERM|ACL failure).*\bchannels?\b/i, 'let this user use the channels: ACL SETUSER USER &PREFIX*'],
  [/NOPERM|ACL failure|user executing the script/, 'give this user the rights that docs/redis.md lists'],
  [
    /WRONGPASS|NOAUTH|invalid password|without any password/i,
    'put the right user and password into the URL: redis://USER:PASSWORD@HOST',
    'not-permitted',
  ],
  [/READONLY|MASTERDOWN/, 'give the address of the master, or the Sentinels that know it: a replica takes no writes'],
  [/NOREPLICAS/, 'bring its replicas back (INFO replication), or ask for fewer: CONFIG SET min-replicas-to-write 0'],
  [
    /CLUSTERDOWN/,
    'a cluster serves only with all slots assigned: redis-cli --cluster check ADDRESS, then --cluster fix ADDRESS',
  ],
  [/^(?:MOVED|ASK) /, 'this is one node of a cluster: use redis+cluster://HOST:PORT,HOST:PORT'],
  [
    /MISCONF/,
    'it cannot write its snapshot and refuses writes: make room on its disk and its folder writable (CONFIG GET dir, LASTSAVE)',
  ],
  [/^BUSY|busy running a script/, 'another script holds it up: wait, or end that one with SCRIPT KILL'],
  [/\bOOM\b/, 'its memory is full: raise maxmemory, or remove what does not belong there'],
  [/LOADING/, 'it is reading its data after a start: wait until it is done (INFO persistence)'],
  [
    /max number of clients/,
    'see who holds its connections (CLIENT LIST) and raise the limit: CONFIG SET maxclients 10000',
  ],
  [/unknown command [`']([a-z]+)/i, 'allow $1 in its configuration: rename-command or a provider took it away'],
  [
    /Unknown RESP|is no Redis|Protocol error|speaks Redis without TLS/i,
    'correct --redis: something else answers at this address',
    'out-of-reach',
  ],
  [/ENOTFOUND|EAI_AGAIN/, 'correct the host name in --redis; this machine cannot resolve it', 'out-of-reach'],
  [
    /certificate|self.signed|issuer|altname/i,
    'name the authority that signed its certificate with --redis-ca, and a host name that the certificate has',
    'out-of-reach',
  ],
  [/ECONNREFUSED/, 'start it, or correct --redis: nothing listens at this address', 'out-of-reach'],
  [
    /no answer|ETIMEDOUT|timed out/i,
    'see whether it hangs (redis-cli PING); is a firewall in between?',
    'out-of-reach',
  ],
]

/** A finding for a failure, with the remedy that fits its message. */
export function failed(about: string, text: string, { message }: Error, prefix = 'sluice:'): Finding {
  for (const [error, mend, level = 'problem'] of remedies) {
    const found = error.exec(message)
    if (found === null) continue
    const filled = mend.replaceAll('$1', found[1]?.toLowerCase() ?? '').replaceAll('PREFIX', prefix)
    return { about, level, text: `${text}${message}`, mend: filled }
  }
  return { about, level: 'out-of-reach', text: `${text}${message}`, mend: 'start it, or correct --redis' }
}
