import { defineConfig } from 'vitest/config'
import { testGroups } from './test/test-groups.ts'

const { unit, servers, alone } = testGroups()

/** What every test has. Tests read the sources of the packages; only the end-to-end tests use what was built. */
export const common = {
  resolve: { conditions: ['sluice-source'] },
  ssr: { resolve: { conditions: ['sluice-source'] } },
  test: {
    globalSetup: ['test/temp-folder.ts'],
    pool: 'forks' as const,
    // These end what hangs; no test is judged by them, so they fit a machine that is busy with other work.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 30_000 } },
  },
}

/** Files that share a process load each module once, which takes longer than most of them do. */
const group = (name: string, include: readonly string[], isolate: boolean) => ({
  ...common,
  test: { ...common.test, name, include: [...include], isolate },
})

export default defineConfig({
  test: {
    // Most files with servers wait more than they compute.
    maxWorkers: 4,
    // The report in .cache is what scripts/count-tests.mjs counts.
    reporters: ['default', 'json', ...(process.env.GITHUB_ACTIONS ? ['github-actions'] : [])],
    outputFile: { json: '.cache/vitest.json' },
    // Vitest runs them in the order of their names: the short files fill the workers at the end.
    projects: [group('alone', alone, true), group('servers', servers, false), group('unit', unit, false)],
  },
})
