// Imports each entry point that is named on the command line, by `import` and by `require`, and prints what came of it:
// the number of names, or what Node says is missing.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const countOf = (module) => Object.keys(module).length
const problemOf = (error) => /Cannot find (?:package|module) '([^']+)'/.exec(error.message)?.[1] ?? error.message

const results = {}
for (const name of process.argv.slice(2)) {
  const imported = await import(name).then(countOf, problemOf)
  let required
  try {
    required = countOf(require(name))
  } catch (error) {
    required = problemOf(error)
  }
  results[name] = { imported, required }
}
console.log(JSON.stringify(results))
