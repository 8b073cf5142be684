// The process of one contender: opens it, and runs a round on request.
import type { Contender } from '../contenders/contender.ts'
import { loadContender } from '../contenders/index.ts'
import type { Reply, Request } from './messages.ts'
import { type RoundResult, runRound } from './round.ts'
import { askingOrder, subjectNames } from './subjects.ts'

let contender: Contender | undefined
let subjects: string[] = []
let order: Uint32Array = new Uint32Array()

async function serve(request: Request): Promise<RoundResult | undefined> {
  switch (request.kind) {
    case 'open':
      contender = await (await loadContender(request.contender))(request.setup)
      subjects = subjectNames(request.subjects)
      order = askingOrder(request.subjects)
      for (let pass = 0; pass < request.passes; pass++) await askAll(contender)
      return undefined
    case 'round':
      return runRound(contender!, subjects, order, request.load)
    case 'close':
      await contender!.close()
      return undefined
  }
}

/** One decision for every subject, so that rounds find all of them present, or used up. */
async function askAll(contender: Contender): Promise<void> {
  for (let at = 0; at < subjects.length; at += 256) {
    const asks = subjects.slice(at, at + 256).map((subject, lane) => contender.decide(subject, lane))
    for (const { status, reason } of (await Promise.allSettled(asks)) as PromiseRejectedResult[]) {
      if (status === 'rejected' && reason instanceof Error) throw reason
    }
  }
}

process.on('message', async (request: Request) => {
  const reply: Reply = await serve(request).then(
    (result) => (result === undefined ? { kind: 'done' } : { kind: 'done', result }),
    (error: Error) => ({ kind: 'failed', error: error.stack ?? String(error) }),
  )
  process.send!(reply, () => {
    if (request.kind === 'close') process.disconnect()
  })
})
