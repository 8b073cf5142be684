import { defineConfig } from 'vitest/config'

export default defineConfig({
  // Tests read the sources of the workspace packages; only the end-to-end tests use what was built.
  resolve: { conditions: ['sluice-source'] },
  ssr: { resolve: { conditions: ['sluice-source'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts', 'bench/**/*.test.ts'],
    globalSetup: ['test/temp-folder.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // The report in .cache is what scripts/count-tests.mjs counts.
    reporters: ['default', 'json', ...(process.env.GITHUB_ACTIONS ? ['github-actions'] : [])],
    outputFile: { json: '.cache/vitest.json' },
  },
})
