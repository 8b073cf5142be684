// One process of the kill test: stores events and flushes (`write`, `slow`), or only flushes (`flush`), until it is
// killed or done.
import { writeSync } from 'node:fs'
import { createShipper } from 'sluice/shipper'

const [role, dir, endpoint] = process.argv.slice(2)
const shipper = await createShipper({
  dir,
  endpoint,
  flushInterval: role === 'flush' ? false : 5,
  ownerTimeout: role === 'slow' ? 300 : '15s',
  segmentBytes: 20_000,
  backoff: { base: 1, max: 5, notReady: 5 },
})
// Synchronous, so that an acknowledgement is not lost between the event and the pipe.
function say(text) {
  for (;;) {
    try {
      return writeSync(1, `${text}\n`)
    } catch (error) {
      // The pipe is full: the parent reads it soon.
      if (error.code !== 'EAGAIN') throw error
    }
  }
}

if (role === 'slow') {
  // Stores one event after the other until it is killed, and reports whether it is the owner.
  shipper.on('ownerChanged', ({ isOwner }) => say(isOwner ? 'owner' : 'not-owner'))
  say('ready')
  for (let n = 0; ; n++) {
    say(await shipper.ship({ n }))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
} else if (role === 'flush') {
  say('ready')
  for (let pass = 0; pass < 50; pass++) {
    await shipper.flush()
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
} else {
  const writer = async (name) => {
    for (let n = 0; n < 2000; n++) say(await shipper.ship({ name, n, text: 'x'.repeat(n % 300) }))
  }
  const all = Promise.all(['a', 'b', 'c', 'd'].map(writer))
  say('ready')
  await all
}
await shipper.close()
