// Imports each entry point that is named on the command line, and prints the number of its names, or Node's error.
const results = {}
for (const name of process.argv.slice(2))
  results[name] = await import(name).then(
    (module) => Object.keys(module).length,
    (error) => error.message,
  )
console.log(JSON.stringify(results))
