import { defineConfig } from 'vitest/config'
import { testGroups } from './test/test-groups.ts'
import { common } from './vitest.config.ts'

/** The tests for work in progress: no servers, no browser, nothing built, no long searches; random runs are short. */
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: [...testGroups().unit],
    isolate: false,
    maxWorkers: 2,
    env: {
      SLUICE_ABORTS: '200',
      SLUICE_FUZZ: '100',
      SLUICE_RECOUNT_HISTORIES: '3',
      SLUICE_CRASH_RUNS: '25',
      SLUICE_HISTORIES: '1200',
    },
  },
})
