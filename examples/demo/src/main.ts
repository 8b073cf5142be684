// The page with traffic on it: run it, and open the link.
import { openDemo } from './open-demo.ts'

const { daemon, close } = await openDemo({ port: process.env.PORT ?? '8440', env: process.env }).catch(
  (error: Error) => {
    console.error(error.message)
    process.exit(1)
  },
)
const link = (): string => `${daemon.url}/#code=${daemon.signInCode()}`
console.log(`
  page  ${link()}
        signs in once, within a minute; Enter prints another link

  Six tenants, one of them noisy. Redis is away for 20 s after 40 s, the policy changes after 80 s, the vendor fails
  after 100 s. Ctrl-C ends it.
`)
process.stdin.on('data', () => console.log(`  page  ${link()}`))
// A file such as /dev/null has no unref: it ends by itself.
process.stdin.unref?.()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close())
