// Sends requests from a process of its own: clients that share an event loop with the service would slow it down.
// Takes an order as JSON, prints what came of it as JSON.

import { baseRate } from './base-rate.ts'
import { type Order, offer } from './offer.ts'

const order = JSON.parse(process.argv[2] ?? '') as Order
const result = order.kind === 'base' ? await baseRate(order) : await offer(order)
process.stdout.write(JSON.stringify(result))
