import { defineConfig } from 'vitest/config'
import { unitTests } from './test/unit-tests.ts'

const files = ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts', 'bench/**/*.test.ts']
const unit = unitTests()

/** What every test has. Tests read the sources of the packages; only the end-to-end tests use what was built. */
export const common = {
  resolve: { conditions: ['sluice-source'] },
  ssr: { resolve: { conditions: ['sluice-source'] } },
  test: {
    globalSetup: ['test/temp-folder.ts'],
    pool: 'forks' as const,
    // These end what hangs; no test is judged by them, so they fit a machine that is busy with other work.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
}

export default defineConfig({
  test: {
    // Most files with servers wait more than they compute.
    maxWorkers: 3,
    // The report in .cache is what scripts/count-tests.mjs counts.
    reporters: ['default', 'json', ...(process.env.GITHUB_ACTIONS ? ['github-actions'] : [])],
    outputFile: { json: '.cache/vitest.json' },
    projects: [
      // These start nothing, so that they can share a process: loading modules takes longer than most of them do.
      { ...common, test: { ...common.test, name: 'unit', include: unit, isolate: false } },
      {
        ...common,
        test: { ...common.test, name: 'servers', include: files, exclude: ['**/node_modules/**', ...unit] },
      },
    ],
  },
})
