import type { Cluster, Redis } from 'ioredis'
import { parseInfo } from 'sluice/redis'
import { examineRights } from './examine-rights.ts'
import { type Finding, ok, warning } from './finding.ts'
import {
  judgeClients,
  judgeClock,
  judgeCluster,
  judgeEviction,
  judgeLatency,
  judgeMemory,
  judgeMode,
  judgePersistence,
  judgeRole,
  judgeVersion,
} from './judge-redis.ts'
import { failed } from './remedies.ts'

const roundTrips = 20

export interface Asked {
  /** The start of the keys. */
  readonly prefix: string
  /** Whether it was decided that counters may be lost. */
  readonly acceptsEviction: boolean
}

/** Looks at a Redis from all sides. Every node of a cluster is looked at. */
export async function examineRedis(
  client: Redis | Cluster,
  { prefix, acceptsEviction }: Asked,
  step: (share: number, what: string) => void,
): Promise<Finding[]> {
  const isCluster = client.isCluster
  const nodes = isCluster ? (client as Cluster).nodes('master') : [client as Redis]
  const findings: Finding[] = []
  for (const [n, node] of nodes.entries()) {
    step(n / nodes.length, nodes.length === 1 ? 'looking at redis' : `looking at redis ${nameOf(node)}`)
    const ofNode = await examineNode(node, acceptsEviction, isCluster)
    findings.push(
      ...(nodes.length === 1
        ? ofNode
        : ofNode.map((finding) => ({ ...finding, about: `${nameOf(node)} ${finding.about}` }))),
    )
  }
  if (findings.every(({ about, level }) => level === 'ok' || !about.endsWith('scripts')))
    findings.push(...(await examineRights(client, prefix)))
  if (isCluster) findings.push(judgeCluster(parseInfo((await client.cluster('INFO')) as string)))
  return findings
}

async function examineNode(node: Redis, acceptsEviction: boolean, isCluster: boolean): Promise<Finding[]> {
  const judged = [...(await judgeTime(node)), await judgeScripts(node)]
  try {
    const info = parseInfo(await node.info())
    return [
      judgeVersion(info),
      ...judgeMode(info, isCluster),
      judgeRole(info),
      ...judged,
      judgeEviction(info, acceptsEviction),
      judgePersistence(info, await saveRules(node), acceptsEviction),
      judgeMemory(info),
      judgeClients(info),
    ]
  } catch (error) {
    const mend = 'let this user run INFO: ACL SETUSER USER +info'
    return [...judged, warning('info', `version, role and memory are not known: ${(error as Error).message}`, mend)]
  }
}

/** When it takes snapshots, as `3600 1`; undefined where this user or a provider does not tell. */
async function saveRules(node: Redis): Promise<string | undefined> {
  try {
    return ((await node.config('GET', 'save')) as string[])[1]
  } catch {
    return undefined
  }
}

async function judgeTime(node: Redis): Promise<Finding[]> {
  try {
    const { offsetMs, uncertaintyMs, timesMs } = await timed(node)
    return [judgeLatency(timesMs), judgeClock(offsetMs, uncertaintyMs)]
  } catch (error) {
    return [failed('clock', 'its time cannot be read: ', error as Error)]
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
    return failed('scripts', 'a script was refused: ', error as Error)
  }
}

function nameOf(node: Redis): string {
  return `${node.options.host ?? 'localhost'}:${node.options.port ?? 6379}`
}
