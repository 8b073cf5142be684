export { RateLimitException } from './nest-adapter.ts'
export { type NestOptions, ProtectGuard, RateLimit, RateLimitGuard, SkipRateLimit } from './rate-limit-guard.ts'
export { type NestModuleOptions, RateLimitModule } from './rate-limit-module.ts'
