#!/usr/bin/env node
// npm links a command only if its file is there at install time. This one is, also in a clone that is not built yet.
import { existsSync } from 'node:fs'

const cli = new URL('../dist/cli.js', import.meta.url)
if (existsSync(cli)) await import(cli.href)
else {
  console.error('sluice: this clone is not built yet: npm run build')
  process.exitCode = 70
}
