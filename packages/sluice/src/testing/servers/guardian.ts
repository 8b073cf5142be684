import { spawn } from 'node:child_process'

/** Sees to it that a server and its folder do not outlive the test process, even when that is ended by SIGKILL. */
export interface Guardian {
  /** Names the process to end; 0 while there is none. */
  watch(pid: number): void
  /** Nothing is left to guard. */
  dismiss(): void
}

// Reads process ids until its input ends, which happens when the test process is gone, in whatever way.
const script = `
trap '' INT TERM HUP
pid=0
while read -r line; do
  [ "$line" = done ] && exit 0
  pid=$line
done
[ "$pid" -gt 1 ] && kill -s KILL -- "-$pid" 2>/dev/null
rm -rf "$0" || { sleep 1; rm -rf "$0"; }
`

/** Starts the guardian of a folder and of the process that will run in it. */
export function guard(folder: string): Guardian {
  // A process group of its own: Ctrl-C in the terminal must not end it before its work is done.
  const child = spawn('/bin/sh', ['-c', script, folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  })
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return {
    watch: (pid) => void child.stdin.write(`${pid}\n`),
    dismiss: () => void child.stdin.end('done\n'),
  }
}
