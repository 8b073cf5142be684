// Starts programs of this example as processes, for the demonstration and the test.
import { join } from 'node:path'
import { type Program, runProgram } from 'example-service/programs'

const dist = join(import.meta.dirname, '..', 'dist')

/** Runs one program of this example. */
export const run = (name: string, env: Readonly<Record<string, string>>): Program =>
  runProgram([join(dist, `${name}.js`)], env)

/** Runs replicas of a program that serves requests, and returns once all of them listen. */
export async function serveReplicas(
  name: string,
  count: number,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly programs: readonly Program[]; readonly urls: readonly string[] }> {
  const programs = Array.from({ length: count }, () => run(name, env))
  return { programs, urls: await Promise.all(programs.map(async (each) => (await each.event('started')).url!)) }
}
