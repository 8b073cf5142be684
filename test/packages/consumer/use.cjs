// What README says of CommonJS: `require` of an ES module, as Node 20.19, 22.12 and later allow it.
const { createLimiter } = require('sluice')
const { openRedis } = require('sluice/redis')

createLimiter({ limits: { rpm: 1 } }).then(async (limiter) => {
  const decisions = [await limiter.take('user:1'), await limiter.take('user:1')]
  await limiter.close()
  console.log(JSON.stringify([typeof openRedis, ...decisions.map(({ allowed }) => allowed)]))
})
