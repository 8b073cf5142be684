// Requires each entry point that is named on the command line, and prints the number of its names, or what Node says.
const results = {}
for (const name of process.argv.slice(2)) {
  try {
    results[name] = Object.keys(require(name)).length
  } catch (error) {
    results[name] = error.message
  }
}
console.log(JSON.stringify(results))
