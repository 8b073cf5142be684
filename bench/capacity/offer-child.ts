// Sends requests from a separate process: clients that share an event loop with the service would slow it down. Takes
// the load as JSON, prints the result as JSON.

import { baseRate } from './base-rate.ts'
import { type Order, offer } from './offer.ts'

const order = JSON.parse(process.argv[2] ?? '') as Order
const result = order.kind === 'base' ? await baseRate(order) : await offer(order)
process.stdout.write(JSON.stringify(result))
