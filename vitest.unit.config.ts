import { defineConfig } from 'vitest/config'
import { unitTests } from './test/unit-tests.ts'
import config from './vitest.config.ts'

/** The tests for work in progress: no servers, no browser, nothing built, and random runs at a tenth of their size. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: unitTests(),
    reporters: ['default'],
    isolate: false,
    env: {
      SLUICE_SCHEDULES: '400',
      SLUICE_ABORTS: '200',
      SLUICE_FUZZ: '100',
      SLUICE_RECOUNT_HISTORIES: '3',
      SLUICE_MUTATIONS: '300',
      SLUICE_MUTANT_RUNS: '4',
      SLUICE_CRASH_RUNS: '25',
      SLUICE_DAMAGE_RUNS: '30',
      SLUICE_HISTORIES: '1200',
    },
  },
})
