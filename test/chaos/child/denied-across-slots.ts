// Makes decisions over several slots that must all be denied, and is killed as soon as the first answer of a slot
// arrives: what the other slots took can no longer be returned. node --import tsx <file> <ports> <users>
import { Cluster } from 'ioredis'
import { storeOf } from 'sluice/store'
import { createLimiter } from '../../../packages/sluice/src/limiter/create-limiter.ts'
import { openRedis } from '../../../packages/sluice/src/stores/redis/open-redis.ts'
import { stranded } from '../policy.ts'

const [ports, users] = process.argv.slice(2) as [string, string]
const nodes = ports.split(',').map((port) => ({ host: '127.0.0.1', port: Number(port) }))
const store = storeOf(openRedis(new Cluster(nodes, { lazyConnect: true })))
const limiter = await createLimiter({ policy: stranded, store, denyCache: false, deadline: 5000, replicas: 1 })
// Fills the device that all of them share.
for (let i = 0; i < 2; i++) await limiter.take('shared', { rule: 'device' })
store.watch!({ roundTrip: () => process.kill(process.pid, 'SIGKILL') })
for (let user = 0; user < Number(users); user++)
  void limiter.check({ method: 'GET', path: '/', headers: { user: `u${user}`, device: 'shared' } })
