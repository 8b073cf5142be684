import type { DynamicModule, ExecutionContext, FactoryProvider, ModuleMetadata, OnModuleInit } from '@nestjs/common'
import { APP_GUARD, HttpAdapterHost } from '@nestjs/core'
import { checkOptionNames, optionNames } from '../../core/check-options.ts'
import { decideOnRefusedBodies } from '../fastify/apply-to-reply.ts'
import { splitOptions } from '../guard/guard-options.ts'
import type { GivenLimiter } from '../guard/open-limiter.ts'
import { nestOptionNames } from './nest-adapter.ts'
import { moduleCall, type NestOptions, RateLimitGuard } from './rate-limit-guard.ts'

export interface NestModuleOptions extends NestOptions {
  /** A limiter, a promise of one, or options of `createLimiter`. What it opens is closed with the app. */
  readonly limiter: GivenLimiter
}

/** Options that depend on other providers, such as a limiter made from a configuration. */
interface NestModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  readonly inject?: NonNullable<FactoryProvider['inject']>
  readonly useFactory: (...args: never[]) => NestModuleOptions | Promise<NestModuleOptions>
}

const asyncNames = optionNames<NestModuleAsyncOptions>({ imports: true, inject: true, useFactory: true })

/**
 * Guards all handlers of an app by a policy.
 *
 * @example
 * \@Module({ imports: [RateLimitModule.forRoot({ limiter: { limits: { rpm: 100 } } })] })
 * class AppModule {}
 */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows modules by their class.
export class RateLimitModule {
  static forRoot(options: NestModuleOptions): DynamicModule {
    splitOptions(options, [...nestOptionNames, 'limiter'], moduleCall)
    return RateLimitModule.forRootAsync({ useFactory: () => options })
  }

  static forRootAsync(options: NestModuleAsyncOptions): DynamicModule {
    checkOptionNames('RateLimitModule.forRootAsync', options, asyncNames)
    const { imports, inject, useFactory } = options
    return {
      module: RateLimitModule,
      ...(imports === undefined ? {} : { imports }),
      providers: [
        {
          provide: RateLimitGuard,
          inject: inject ?? [],
          useFactory: async (...args: never[]) => {
            const { limiter, ...given } = await useFactory(...args)
            return new RateLimitGuard(limiter, given)
          },
        },
        { provide: APP_GUARD, useExisting: RateLimitGuard },
        {
          provide: 'sluice unrouted requests',
          inject: [RateLimitGuard, HttpAdapterHost],
          useFactory: unroutedRequests,
        },
      ],
      exports: [RateLimitGuard],
    }
  }
}

type Next = (error?: unknown) => void

/** What is used of an app of Express. */
interface ExpressApp {
  use(handler: (error: unknown, request: object, response: object, next: Next) => void): void
}

/**
 * Guards of Nest run once a handler is found and the body is parsed. A body that cannot be parsed is refused before
 * that, and counted here.
 */
function unroutedRequests(guard: RateLimitGuard, { httpAdapter }: HttpAdapterHost): OnModuleInit {
  return {
    // By then the parsers are in place, and the exception filters not yet.
    onModuleInit() {
      const platform = httpAdapter?.getType()
      if (platform === 'express') onExpress(guard, httpAdapter.getInstance<ExpressApp>())
      if (platform === 'fastify') {
        decideOnRefusedBodies(httpAdapter.getInstance(), (request, reply) =>
          guard.outcomeOfUnrouted(contextOf(request, reply)),
        )
      }
    },
  }
}

/** Between the parser and Nest's exception filters, which see the denial as any other. */
function onExpress(guard: RateLimitGuard, app: ExpressApp): void {
  app.use(function sluice(error, request, response, next) {
    guard.decideUnrouted(contextOf(request, response)).then(() => next(error), next)
  })
}

/** A placeholder for the handler that is not known yet. */
class Unrouted {
  handle(): void {}
}

function contextOf(request: object, response: object): ExecutionContext {
  const args = [request, response]
  const http = { getRequest: () => request, getResponse: () => response, getNext: () => undefined }
  const context = {
    getClass: () => Unrouted,
    getHandler: () => Unrouted.prototype.handle,
    getArgs: () => args,
    getArgByIndex: (index: number) => args[index],
    getType: () => 'http',
    switchToHttp: () => http,
    switchToRpc: () => ({ getData: () => undefined, getContext: () => undefined }),
    switchToWs: () => ({ getData: () => undefined, getClient: () => undefined, getPattern: () => '' }),
  }
  return context as unknown as ExecutionContext
}
