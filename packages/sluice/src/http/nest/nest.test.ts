import * as common from '@nestjs/common'
import * as core from '@nestjs/core'
import { describe, expect, it } from 'vitest'
import { startNestWith } from '../../../../../test/nest11/nest-app.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { httpConformance } from '../../testing/http-conformance.ts'
import { exchange } from '../../testing/http-exchange.ts'
import { closed } from '../testing/listening.ts'
import * as sluice from './index.ts'

// The types of the app are those of Nest 11, in whose folder it is.
const start = startNestWith({ common: common as never, core: core as never, sluice })

httpConformance({ describe, it }, { name: 'Nest 12', start })

describe('the guard for Nest', () => {
  const policy = { service: 'suite', rules: [{ name: 'api', key: 'ip', limits: { rpm: 1 } }] }

  it('says how to write the options of @nestjs/throttler', () => {
    const written = "write RateLimitModule.forRoot({ limiter: { limits: { amount: 10, per: '1m' } } })"
    expect(() => sluice.RateLimitModule.forRoot({ ttl: 60_000, limit: 10 } as never)).toThrow(written)
  })

  it('leaves handlers alone that say so', async () => {
    const limiter = await createLimiter({ policy })
    const { port, close } = await start(limiter, {}, {})
    for (let i = 0; i < 3; i++) {
      expect(JSON.parse((await exchange(port, '/free').answer).body)).toEqual({ decision: null })
    }
    await close()
    await limiter.close()
  })

  it('throws what exception filters can catch, with the decision', async () => {
    const limiter = await createLimiter({ policy })
    const seen: unknown[] = []
    class Filter {
      catch(exception: sluice.RateLimitException, host: common.ArgumentsHost): void {
        seen.push(exception.decision.rule)
        host.switchToHttp().getResponse().status(420).end('filtered')
      }
    }
    common.Catch(sluice.RateLimitException)(Filter)
    class App {}
    common.Module({
      imports: [
        // As most apps do it: the limiter comes from another provider.
        sluice.RateLimitModule.forRootAsync({ inject: [], useFactory: async () => ({ limiter, cost: 2 }) }),
      ],
      controllers: [controllerOf()],
      providers: [{ provide: core.APP_FILTER, useClass: Filter }],
    })(App)
    const app = await core.NestFactory.create(App, { logger: false })
    await app.listen(0, '127.0.0.1')
    const answer = await exchange(app.getHttpServer().address().port, '/hello').answer
    expect([answer.status, answer.body, seen]).toEqual([420, 'filtered', ['api']])
    expect(answer.headers['retry-after']).toBeDefined()
    await closed(app.getHttpServer())
    await app.close()
    await limiter.close()
  })
})

function controllerOf(): new () => object {
  class Hello {
    hello(): string {
      return 'hello'
    }
  }
  common.Get('hello')(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello')!)
  common.Controller()(Hello)
  return Hello
}
