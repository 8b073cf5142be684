import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import type { Request, Response } from 'express'
import { closed } from '../../packages/sluice/src/http/testing/listening.ts'
import { type StartHttpApp, statusIn } from '../../packages/sluice/src/testing/http-conformance.ts'

/** One version of Nest, with the adapter loaded against it. */
export interface NestVersion {
  readonly common: typeof import('@nestjs/common')
  readonly core: typeof import('@nestjs/core')
  readonly sluice: typeof import('../../packages/sluice/src/http/nest/index.ts')
  /** Makes the platform below Nest; Express when left out. */
  readonly platform?: () => import('@nestjs/common').HttpServer
}

/**
 * The app of the HTTP suite in Nest. The decorators are called as functions, so that it does not depend on how a
 * compiler handles them, and so that one app works with all versions.
 */
export function startNestWith({ common, core, sluice, platform }: NestVersion): StartHttpApp {
  const { Body, Controller, Get, HttpCode, Options, Post, Req, Res } = common
  return async (limiter, { parsesBody = true, ...options }, own) => {
    class App {
      hello(): string {
        return 'hello'
      }
      healthz(): string {
        return 'hello'
      }
      own(): string {
        return 'hello'
      }
      free(req: Request): object {
        return { decision: req.sluice ?? null }
      }
      echo(body: unknown): unknown {
        return body ?? {}
      }
      query(req: Request): unknown {
        return req.query
      }
      decision(req: Request): unknown {
        return req.sluice
      }
      status(req: Request, res: Response): void {
        res.status(statusIn(String(req.params.code))).send()
      }
      bytes(): string {
        return 'x'.repeat(1000)
      }
      hang(): Promise<never> {
        return new Promise(() => {})
      }
    }
    const decorate = (name: keyof App, ...decorators: MethodDecorator[]) => {
      for (const each of decorators) each(App.prototype, name, Object.getOwnPropertyDescriptor(App.prototype, name)!)
    }
    const takes = (name: keyof App, ...parameters: ParameterDecorator[]) => {
      parameters.forEach((parameter, i) => {
        parameter(App.prototype, name, i)
      })
    }
    decorate('hello', Get('hello'))
    class Other {
      options(): string {
        return 'hello'
      }
    }
    const optionsOf = Object.getOwnPropertyDescriptor(Other.prototype, 'options')!
    Options('hello')(Other.prototype, 'options', optionsOf)
    Controller()(Other)
    decorate('healthz', Get('healthz'))
    decorate('own', Get('own'), sluice.RateLimit(own))
    decorate('free', Get('free'), sluice.SkipRateLimit())
    decorate('echo', Post('echo'), HttpCode(200))
    decorate('query', Get('query'))
    decorate('decision', Get('decision'))
    decorate('status', Get('status/:code'))
    decorate('bytes', Get('bytes'))
    decorate('hang', Get('hang'))
    takes('free', Req())
    takes('echo', Body())
    takes('query', Req())
    takes('decision', Req())
    takes('status', Req(), Res())
    Controller()(App)

    class AppModule {}
    common.Module({
      imports: [sluice.RateLimitModule.forRoot({ limiter, ...options })],
      controllers: [App, Other],
    })(AppModule)

    // By default Nest ends the process when an app cannot be made.
    const settings = { logger: false, bodyParser: parsesBody, abortOnError: false } as const
    const app = platform
      ? await core.NestFactory.create(AppModule, platform() as never, settings)
      : await core.NestFactory.create(AppModule, settings)
    await app.listen(0, '127.0.0.1')
    const server = app.getHttpServer()
    return {
      port: (server.address() as AddressInfo).port,
      close: async () => {
        await closed(server)
        await app.close().catch(() => {})
      },
    }
  }
}
