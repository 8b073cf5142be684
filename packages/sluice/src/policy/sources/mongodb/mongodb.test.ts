import { type Collection, MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MongodOptions, type MongodServer, startMongod } from '../../../testing/servers/mongod.ts'
import { findMongod } from '../../../testing/servers/mongod-binary.ts'
import { type SourcePlace, sourceConformance } from '../../../testing/source-conformance.ts'
import { waitFor } from '../../../testing/wait-for.ts'
import { openPolicy } from '../../live/open-policy.ts'
import { mongoPolicy } from './mongodb.ts'
import type { MongoHistory } from './mongodb-collection.ts'

interface Stored {
  _id: string
  last_updated?: Date
}

const missing = process.env.MONGODB_URL === undefined && findMongod() === undefined
const describeMongo = describe.skipIf(missing)
if (missing) console.warn('MongoDB tests do not run: run `npm run setup`, install mongod, or set MONGODB_URL')

async function open(options: MongodOptions) {
  const server = (await startMongod(options)) as MongodServer
  const client = new MongoClient(server.url, {
    serverSelectionTimeoutMS: 2000,
    heartbeatFrequencyMS: 500,
    monitorCommands: true,
  })
  const database = client.db(`sluice-${process.pid}-${Math.random().toString(36).slice(2)}`)
  const policies: Collection<Stored> = database.collection('policies')
  const close = async (): Promise<void> => {
    await database.dropDatabase().catch(() => {})
    await client.close()
    await server.stop()
  }
  return { client, server, policies, versions: database.collection('versions'), close }
}

async function place(options: MongodOptions, poll: number): Promise<SourcePlace> {
  const { server, policies, close } = await open(options)
  return {
    open: (service) => mongoPolicy(policies, { service, poll, timeout: 3000 }),
    write: async (service, document) => void (await mongoPolicy(policies, { service }).archive.push(document)),
    writeNonsense: async (service) =>
      void (await policies.replaceOne({ _id: service }, { nonsense: true, last_updated: new Date() } as object)),
    remove: async (service) => void (await policies.deleteOne({ _id: service })),
    ...(server.pids.length > 0 && {
      outage: {
        begin: async () => void server.pids.forEach((pid) => void process.kill(pid, 'SIGKILL')),
        end: () => server.settled(),
      },
    }),
    close,
  }
}

const framework = { describe: describeMongo, it, beforeAll, afterAll }
sourceConformance(framework, { name: 'mongoPolicy on a replica set', start: () => place({ replicaSet: 1 }, 3_600_000) })
sourceConformance(framework, { name: 'mongoPolicy on a single server, which only polls', start: () => place({}, 50) })

const policy = (version: string): object => ({
  version,
  rules: [{ name: 'all', key: ['ip'], limits: { rpm: 10 } }],
})

describeMongo('mongoPolicy on a single server', () => {
  it('asks once for a change stream, which there is none of, and then only polls', async () => {
    const { client, policies, close } = await open({})
    const seen = { streams: 0, finds: 0 }
    client.on('commandStarted', ({ commandName, command }) => {
      if (commandName === 'find') seen.finds++
      if (JSON.stringify(command.pipeline ?? []).includes('$changeStream')) seen.streams++
    })
    try {
      await mongoPolicy(policies, { service: 's' }).archive.push({ service: 's', ...policy('v1') })
      const source = mongoPolicy(policies, { service: 's', poll: 50 })
      const live = await openPolicy(source)
      const before = seen.finds
      // The pauses before it would be asked for again add up to less than a second.
      await waitFor(() => seen.finds > before + 40)
      expect(seen.streams).toBe(1)
      await live.close()
    } finally {
      await close()
    }
  })
})

describeMongo('mongoPolicy', () => {
  let mongo: Awaited<ReturnType<typeof open>>

  beforeAll(async () => {
    mongo = await open({ replicaSet: 1 })
  })

  afterAll(() => mongo?.close())

  it('loads the original document, and a change that forgot last_updated', async () => {
    const { policies } = mongo
    await policies.insertOne({
      _id: 'sentiment-service',
      last_updated: new Date('2025-01-01'),
      general_rate_limit: { rps: 10, rpm: 100 },
      custom_rate_limits: { 'client-corp': { rpm: 500 } },
    } as Stored)
    const source = mongoPolicy(policies, { service: 'sentiment-service', poll: 3_600_000 })
    const live = await openPolicy(source)
    expect(live.current.service).toBe('sentiment-service')
    const { version } = live.current
    await policies.updateOne({ _id: 'sentiment-service' }, { $set: { general_rate_limit: { rpm: 200 } } })
    await waitFor(() => live.current.version !== version)
    await live.close()
  })

  it('reports a document that is older than the one in force, and takes it when it is touched', async () => {
    const { policies } = mongo
    const source = mongoPolicy(policies, { service: 'older', poll: 3_600_000 })
    await source.archive.push(policy('v1'))
    const live = await openPolicy(source)
    await policies.replaceOne({ _id: 'older' }, { ...policy('v0'), last_updated: new Date(0) })
    await waitFor(() => live.status.lastError, { describe: 'the older document to be reported' })
    expect(live.current.version).toBe('v1')
    await policies.updateOne({ _id: 'older' }, { $currentDate: { last_updated: true } })
    await waitFor(() => live.current.version === 'v0')
    expect(live.status.lastError).toBeUndefined()
    await live.close()
  })

  it('refuses a document that names another service', async () => {
    const { policies } = mongo
    await policies.insertOne({ _id: 'copy', last_updated: new Date(1000), ...policy('v0'), ...{ service: 'original' } })
    const source = mongoPolicy(policies, { service: 'copy', poll: 3_600_000 })
    await expect(openPolicy(source)).rejects.toThrow(/asked for "copy"/)
  })

  it('keeps versions, also the one that was there before', async () => {
    const { policies, versions } = mongo
    await policies.insertOne({ _id: 'kept', last_updated: new Date(1000), ...policy('v0') })
    const { archive } = mongoPolicy(policies, { service: 'kept', history: versions })
    const revision = await archive.push('service: kept\nversion: v1\nrules: []\n')
    const history = await archive.history(10)
    expect(history.map((each) => each.revision)).toEqual([revision, 1000])
    expect(history.map(({ document }) => (document as { version: string }).version)).toEqual(['v1', 'v0'])
    expect(await mongoPolicy(policies, { service: 'kept' }).archive.history(10)).toHaveLength(1)
  })

  it('lets only one of several push after the same revision', async () => {
    const { archive } = mongoPolicy(mongo.policies, { service: 'after', history: mongo.versions })
    const after = (await archive.history(1))[0]?.revision ?? 0
    const pushes = await Promise.allSettled([1, 2, 3, 4].map((i) => archive.push(policy(`v${i}`), { after })))
    expect(pushes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const push of pushes)
      if (push.status === 'rejected') expect(push.reason).toMatchObject({ code: 'SLUICE_POLICY_CHANGED' })
    await expect(archive.push(policy('late'), { after })).rejects.toMatchObject({ code: 'SLUICE_POLICY_CHANGED' })
    const [newest] = await archive.history(1)
    expect(await archive.push(policy('next'), { after: newest!.revision })).toBeGreaterThan(newest!.revision)
  })

  it('refuses a second push while the first one is not in the history yet', async () => {
    const { policies, versions } = mongo
    let goOn = () => {}
    const written = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const slow = {
      find: (filter: object) => versions.find(filter),
      insertOne: (row: object) => written.then(() => versions.insertOne(row)),
    } as MongoHistory
    const first = mongoPolicy(policies, { service: 'not-kept', history: slow }).archive.push(policy('v1'), { after: 0 })
    await waitFor(async () => (await policies.findOne({ _id: 'not-kept' })) !== null)
    const { archive } = mongoPolicy(policies, { service: 'not-kept', history: versions })
    await expect(archive.push(policy('v2'), { after: 0 })).rejects.toMatchObject({ code: 'SLUICE_POLICY_CHANGED' })
    const [newest] = await archive.history(1)
    goOn()
    expect(newest!.revision).toBe(await first)
    expect(await archive.history(0)).toEqual([])
  })

  it('gives many that push at once different revisions', async () => {
    const { archive } = mongoPolicy(mongo.policies, { service: 'many', history: mongo.versions })
    const revisions = await Promise.all(Array.from({ length: 10 }, (_, i) => archive.push(policy(`v${i}`))))
    expect(new Set(revisions).size).toBe(10)
    const history = await archive.history(100)
    expect(history.map(({ revision }) => revision)).toEqual(revisions.sort((a, b) => b - a))
  })

  it('names the option that is wrong', async () => {
    expect(() => mongoPolicy(mongo.policies, { service: '' })).toThrow(/service is ""/)
    await expect(mongoPolicy(mongo.policies, { service: 's' }).archive.push([])).rejects.toThrow(/document is an array/)
  })
})

describeMongo('mongoPolicy on three members', () => {
  it('goes on following when the primary is stopped', async () => {
    const { server, policies, close } = await open({ replicaSet: 3 })
    try {
      const source = mongoPolicy(policies, { service: 'shop', poll: 3_600_000 })
      await source.archive.push(policy('v1'))
      const live = await openPolicy(source)
      await server.stopPrimary()
      await waitFor(() => source.archive.push(policy('v2')), {
        timeoutMs: 60_000,
        describe: 'a write to the new primary',
      })
      await waitFor(() => live.current.version === 'v2')
      await server.settled()
      await source.archive.push(policy('v3'))
      await waitFor(() => live.current.version === 'v3')
      await live.close()
    } finally {
      await close()
    }
  })
})
