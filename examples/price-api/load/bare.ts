// What Express itself takes for an answer of this size: the load test compares with it.
import type { AddressInfo } from 'node:net'
import express from 'express'

const answer = { assetId: 'A0', usd: 42.123, source: 'kraken', at: new Date(), stale_flag: false }
const server = express()
  .disable('x-powered-by')
  .get('/v1/price', (_, response) => {
    response.json(answer)
  })
  .listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    console.log(JSON.stringify({ event: 'started', url: `http://127.0.0.1:${port}` }))
  })
