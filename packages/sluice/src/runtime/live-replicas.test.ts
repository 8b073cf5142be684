import { expect, test } from 'vitest'
import { LiveReplicas } from './live-replicas.ts'

test('a replica is alone until others are counted, and a larger count holds at once', () => {
  const replicas = new LiveReplicas(10_000)
  expect(replicas.count).toBe(1)
  replicas.seen(4, 100)
  expect(replicas.count).toBe(4)
})

test('a smaller count holds only after the larger one was not seen for a while', () => {
  const replicas = new LiveReplicas(10_000)
  replicas.seen(4, 0)
  for (let atMs = 1000; atMs < 10_000; atMs += 1000) {
    replicas.seen(3, atMs)
    expect(replicas.count).toBe(4)
  }
  for (let atMs = 10_000; atMs <= 20_000; atMs += 1000) replicas.seen(3, atMs)
  expect(replicas.count).toBe(3)
})

test('time in which nothing was counted does not make it fall', () => {
  const replicas = new LiveReplicas(10_000)
  replicas.seen(4, 0)
  replicas.seen(1, 600_000)
  expect(replicas.count).toBe(4)
})
