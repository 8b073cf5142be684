/** The lines that enforce a policy, by what is installed. */
const lines: Readonly<Record<string, readonly string[]>> = {
  express: ["import { rateLimit } from 'sluice/express'", 'app.use(rateLimit(limiter, { parseBody: express.json() }))'],
  fastify: ["import { rateLimit } from 'sluice/fastify'", 'await app.register(rateLimit, { limiter })'],
  hono: ["import { rateLimit } from 'sluice/hono'", 'app.use(rateLimit(limiter))'],
  koa: ["import { rateLimit } from 'sluice/koa'", 'app.use(rateLimit(limiter))'],
  nest: [
    "import { RateLimitModule } from 'sluice/nest'",
    '@Module({ imports: [RateLimitModule.forRoot({ limiter })] })',
  ],
  fetch: ["import { rateLimit } from 'sluice/fetch'", 'export default { fetch: rateLimit(limiter, handler) }'],
  node: [
    "import { rateLimit } from 'sluice/node'",
    "createServer(rateLimit(limiter, (req, res) => res.end('hello'))).listen(3000)",
  ],
}

/** What a policy can be written for; `daemon` is what does not embed Sluice: `sluice serve` and a gateway. */
export const frameworks: readonly string[] = [...Object.keys(lines), 'daemon']

/** Which framework a project has installed; node's own server when it has none that is known. */
export function frameworkOf(dependencies: Readonly<Record<string, unknown>>): string {
  if ('@nestjs/core' in dependencies) return 'nest'
  if ('next' in dependencies) return 'fetch'
  return Object.keys(lines).find((name) => name in dependencies) ?? 'node'
}

/** The code that enforces the policy in a file. */
export function codeFor(framework: string, file: string): readonly string[] {
  const [load, use] = lines[framework] ?? []
  if (load === undefined || use === undefined) return [`sluice serve --policy ${file} --redis redis://127.0.0.1:6379`]
  return [
    "import { createLimiter, filePolicy } from 'sluice'",
    load,
    `const limiter = await createLimiter({ policy: filePolicy('${file}') })`,
    use,
  ]
}
