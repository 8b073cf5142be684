import { expect, test } from 'vitest'
import { findBinary } from './binary.ts'
import { gone } from './gone.ts'
import { startNginx } from './nginx.ts'

const there = findBinary('nginx', ['/usr/sbin'])

test.skipIf(!there)(`answers as configured${there ? '' : ' (not run: nginx is not installed)'}`, async () => {
  const server = await startNginx('location / { return 418 "short and stout"; }')
  try {
    const response = await fetch(server.url)
    expect([response.status, await response.text()]).toEqual([418, 'short and stout'])
  } finally {
    await server.stop()
  }
  await gone([server.pid])
})

test.skipIf(!there)('a configuration that is wrong is an error with what nginx said', async () => {
  await expect(startNginx('nonsense on;')).rejects.toThrow('unknown directive "nonsense"')
})
