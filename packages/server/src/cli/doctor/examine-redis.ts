import type { Cluster, Redis } from 'ioredis'
import { parseInfo } from 'sluice/redis'
import { type Finding, ok, problem, unreachable } from './finding.ts'
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
  if (isCluster) findings.push(judgeCluster(parseInfo((await client.cluster('INFO')) as string)))
  return findings
}

async function examineNode(node: Redis): Promise<Finding[]> {
  const info = parseInfo(await node.info())
  const { offsetMs, uncertaintyMs, timesMs } = await timed(node)
  return [
    judgeVersion(info),
    judgeRole(info),
    judgeLatency(timesMs),
    judgeClock(offsetMs, uncertaintyMs),
    judgeEviction(info),
    judgeMemory(info),
    await judgeScripts(node),
  ]
}

/** Asks for the time again and again; the quickest answer tells best how far the clocks are apart. */
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

function nameOf(node: Redis): string {
  return `${node.options.host ?? 'localhost'}:${node.options.port ?? 6379}`
}

/** What to say when there is no connection at all. */
export function redisAway(error: Error): Finding {
  const auth = /NOAUTH|WRONGPASS|NOPERM/.test(error.message)
  const mend = auth
    ? 'put the user and password into the URL: redis://USER:PASSWORD@HOST'
    : 'start it, or correct --redis; is a firewall in between?'
  return unreachable('redis', error.message, mend)
}
