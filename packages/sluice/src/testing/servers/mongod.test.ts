import { MongoClient } from 'mongodb'
import { expect, test } from 'vitest'
import { gone } from './gone.ts'
import { startMongod } from './mongod.ts'

test('a single server, or a clear word on why there is none', async (context) => {
  const server = await startMongod()
  if (!server.available) {
    console.warn(`NOT RUN: ${server.why}`)
    return context.skip(server.why)
  }
  const client = new MongoClient(server.url)
  try {
    expect(await client.db('admin').command({ ping: 1 })).toMatchObject({ ok: 1 })
  } finally {
    await client.close()
    await server.stop()
  }
  await gone(server.pids)
})

test('a replica set outlives its primary stepping down and being killed', { timeout: 120_000 }, async (context) => {
  const server = await startMongod({ replicaSet: 3 })
  if (!server.available) {
    console.warn(`NOT RUN: ${server.why}`)
    return context.skip(server.why)
  }
  const client = new MongoClient(server.url)
  const things = client.db('test').collection('things')
  try {
    await things.insertOne({ a: 1 }, { writeConcern: { w: 3 } })
    await server.stepDown()
    await things.insertOne({ a: 2 })
    await server.stopPrimary()
    await things.insertOne({ a: 3 })
    await server.settled()
    expect(await things.countDocuments()).toBe(3)
  } finally {
    await client.close()
    await server.stop()
  }
  await gone(server.pids)
})
