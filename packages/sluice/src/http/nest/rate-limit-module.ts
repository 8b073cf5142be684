import type { DynamicModule, FactoryProvider, ModuleMetadata } from '@nestjs/common'
import { APP_GUARD, HttpAdapterHost } from '@nestjs/core'
import { checkOptionNames, optionNames } from '../../core/check-options.ts'
import { splitOptions } from '../guard/guard-options.ts'
import type { GivenLimiter } from '../guard/open-limiter.ts'
import { nestOptionNames } from './nest-adapter.ts'
import { moduleCall, type NestOptions, RateLimitGuard } from './rate-limit-guard.ts'
import { unroutedRequests } from './unrouted-requests.ts'

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
