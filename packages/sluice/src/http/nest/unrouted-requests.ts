import type { ExecutionContext, OnModuleInit } from '@nestjs/common'
import type { HttpAdapterHost } from '@nestjs/core'
import { decideOnRefusedBodies } from '../fastify/refused-bodies.ts'
import type { RateLimitGuard } from './rate-limit-guard.ts'

type Next = (error?: unknown) => void

/** What is used of an app of Express. */
interface ExpressApp {
  use(handler: (error: unknown, request: object, response: object, next: Next) => void): void
}

/**
 * Guards of Nest run once a handler is found and the body is parsed. A body that cannot be parsed is refused before
 * that, and counted here.
 */
export function unroutedRequests(guard: RateLimitGuard, { httpAdapter }: HttpAdapterHost): OnModuleInit {
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
