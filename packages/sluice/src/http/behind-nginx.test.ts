import { createServer } from 'node:http'
import express from 'express'
import { describe, it } from 'vitest'
import { type StartHttpApp, statusIn, usingApps } from '../testing/http-cases/app.ts'
import { claimTargets } from '../testing/http-cases/targets.ts'
import { startNginx } from '../testing/servers/nginx.ts'
import { rateLimit } from './express/index.ts'
import { listening } from './testing/listening.ts'

/** nginx hands the target on as the client sent it, or, where `proxy_pass` has a path, as it reads it itself. */
const passing: Readonly<Record<string, string>> = { 'as it was sent': '', 'as nginx reads it': '/' }

describe.each(Object.entries(passing))('Express behind nginx, which passes the target %s', (_, path) => {
  const start: StartHttpApp = async (limiter, options) => {
    const app = express()
    app.use(rateLimit(limiter, options as object))
    app.get(['/hello', '/healthz'], (__, res) => void res.send('hello'))
    app.get('/status/:code', (req, res) => void res.status(statusIn(req.params.code)).end())
    const behind = await listening(createServer(app))
    const nginx = await startNginx(`location / { proxy_pass http://127.0.0.1:${behind.port}${path}; }`)
    return {
      port: nginx.port,
      close: async () => {
        await nginx.stop()
        await behind.close()
      },
    }
  }
  claimTargets(usingApps(start), it)
})
