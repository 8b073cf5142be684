import type { Cluster, Redis } from 'ioredis'
import { parseInfo } from 'sluice/redis'
import { isAuthFailure, isNoDatabase } from '../../config/try-redis.ts'
import { type Finding, notPermitted, ok, problem, unreachable, warning } from './finding.ts'
import {
  judgeClock,
  judgeCluster,
  judgeEviction,
  judgeLatency,
  judgeMemory,
  judgeRole,
  judgeVersion,
} from './judge-redis.ts'

const roundTrips = 20

/** Looks at a Redis from all sides. Every node of a cluster is looked at. */
export async function examineRedis(
  client: Redis | Cluster,
  prefix: string,
  step: (share: number, what: string) => void,
): Promise<Finding[]> {
  const isCluster = client.isCluster
  const nodes = isCluster ? (client as Cluster).nodes('master') : [client as Redis]
  const findings: Finding[] = []
  for (const [n, node] of nodes.entries()) {
    step(n / nodes.length, nodes.length === 1 ? 'looking at redis' : `looking at redis ${nameOf(node)}`)
    const ofNode = await examineNode(node)
    findings.push(
      ...(nodes.length === 1
        ? ofNode
        : ofNode.map((finding) => ({ ...finding, about: `${nameOf(node)} ${finding.about}` }))),
    )
  }
  findings.push(await judgeKeys(client, prefix))
  if (isCluster) findings.push(judgeCluster(parseInfo((await client.cluster('INFO')) as string)))
  return findings
}

async function examineNode(node: Redis): Promise<Finding[]> {
  const { offsetMs, uncertaintyMs, timesMs } = await timed(node)
  const judged = [judgeLatency(timesMs), judgeClock(offsetMs, uncertaintyMs), await judgeScripts(node)]
  try {
    const info = parseInfo(await node.info())
    return [judgeVersion(info), judgeRole(info), ...judged, judgeEviction(info), judgeMemory(info)]
  } catch (error) {
    const mend = 'let this user run INFO: ACL SETUSER ... +info'
    return [...judged, warning('info', `version, role and memory are not known: ${(error as Error).message}`, mend)]
  }
}

/** Asks for the time several times; the quickest answer gives the best estimate of the difference of the clocks. */
async function timed(node: Redis): Promise<{ offsetMs: number; uncertaintyMs: number; timesMs: number[] }> {
  const timesMs: number[] = []
  let best = { offsetMs: 0, uncertaintyMs: Number.POSITIVE_INFINITY }
  for (let trip = 0; trip < roundTrips; trip++) {
    const sentAt = Date.now()
    const startMs = performance.now()
    const [seconds, micros] = (await node.time()) as unknown as [string | number, string | number]
    const tookMs = performance.now() - startMs
    timesMs.push(tookMs)
    // Date.now() counts whole milliseconds, hence the one.
    if (tookMs / 2 + 1 >= best.uncertaintyMs) continue
    const theirs = Number(seconds) * 1000 + Number(micros) / 1000
    best = { offsetMs: theirs - (sentAt + tookMs / 2), uncertaintyMs: tookMs / 2 + 1 }
  }
  return { ...best, timesMs }
}

async function judgeScripts(node: Redis): Promise<Finding> {
  try {
    await node.eval("return redis.call('TIME')[1]", 0)
    return ok('scripts', 'this user may run scripts')
  } catch (error) {
    return problem(
      'scripts',
      `a script was refused: ${(error as Error).message}`,
      'let this user run EVAL and EVALSHA: ACL SETUSER ... +@scripting +@read +@write',
    )
  }
}

/** Writes a key where the limiter would, as a user may be confined to other keys. It expires at once. */
async function judgeKeys(client: Redis | Cluster, prefix: string): Promise<Finding> {
  const key = `${prefix}#doctor`
  try {
    await client.eval("redis.call('SET', KEYS[1], '1', 'PX', 1) return redis.call('GET', KEYS[1])", 1, key)
    return ok('keys', `this user may use keys that begin with ${prefix}`)
  } catch (error) {
    const mend = `let this user use them: ACL SETUSER ... ~${prefix}*; or start the daemon with another --redis-prefix`
    return problem('keys', `writing ${key} was refused: ${(error as Error).message}`, mend)
  }
}

function nameOf(node: Redis): string {
  return `${node.options.host ?? 'localhost'}:${node.options.port ?? 6379}`
}

/** What to say when there is no connection at all. */
export function redisAway(error: Error): Finding {
  if (isNoDatabase(error))
    return problem('redis', error.message, 'name a database that it has: redis://HOST:PORT/0; CONFIG GET databases')
  if (/NOPERM.*'select'/.test(error.message))
    return notPermitted('redis', error.message, 'let this user select it: ACL SETUSER ... +select; or use database 0')
  if (isAuthFailure(error))
    return notPermitted(
      'redis',
      error.message,
      'put the right user and password into the URL: redis://USER:PASSWORD@HOST',
    )
  return unreachable('redis', error.message, 'start it, or correct --redis; is a firewall in between?')
}
