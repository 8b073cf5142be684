export { RateLimit, SkipRateLimit } from './decorators.ts'
export { RateLimitException } from './rate-limit-exception.ts'
export { type NestOptions, ProtectGuard, RateLimitGuard } from './rate-limit-guard.ts'
export { type NestModuleOptions, RateLimitModule } from './rate-limit-module.ts'
