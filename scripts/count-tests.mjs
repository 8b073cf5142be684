// Prints `N passed, N failed, N skipped` from the JSON report vitest leaves behind; fails when there is none.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const report = fileURLToPath(new URL('../.cache/vitest.json', import.meta.url))

function count() {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  const states = testResults.flatMap((file) => file.assertionResults.map((test) => test.status))
  // A file that could not even be read, or whose hooks failed, has no failed test of its own and is still a failure.
  const brokenFiles = testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  )
  const passed = states.filter((state) => state === 'passed').length
  const failed = states.filter((state) => state === 'failed').length
  return { passed, failed: failed + brokenFiles.length, skipped: states.length - passed - failed }
}

let counts = { passed: 0, failed: 0, skipped: 0 }
try {
  counts = count()
} catch (error) {
  console.error(`the tests left no report: ${error.message}`)
  process.exitCode = 1
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
