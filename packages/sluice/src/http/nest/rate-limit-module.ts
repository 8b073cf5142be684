import type { DynamicModule, FactoryProvider, ModuleMetadata } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import type { Limiter } from '../../limiter/limiter.ts'
import { type NestOptions, RateLimitGuard } from './rate-limit-guard.ts'

export interface NestModuleOptions extends NestOptions {
  readonly limiter: Limiter
}

/** Options that depend on other providers, such as a limiter made from a configuration. */
export interface NestModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  readonly inject?: NonNullable<FactoryProvider['inject']>
  readonly useFactory: (...args: never[]) => NestModuleOptions | Promise<NestModuleOptions>
}

/**
 * Guards all handlers of an app by a policy.
 *
 * @example
 * \@Module({ imports: [RateLimitModule.forRoot({ limiter })] })
 * class AppModule {}
 */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows modules by their class.
export class RateLimitModule {
  static forRoot(options: NestModuleOptions): DynamicModule {
    return RateLimitModule.forRootAsync({ useFactory: () => options })
  }

  static forRootAsync({ imports, inject, useFactory }: NestModuleAsyncOptions): DynamicModule {
    return {
      module: RateLimitModule,
      ...(imports === undefined ? {} : { imports }),
      providers: [
        {
          provide: RateLimitGuard,
          inject: inject ?? [],
          useFactory: async (...args: never[]) => {
            const { limiter, ...options } = await useFactory(...args)
            return new RateLimitGuard(limiter, options)
          },
        },
        { provide: APP_GUARD, useExisting: RateLimitGuard },
      ],
      exports: [RateLimitGuard],
    }
  }
}
