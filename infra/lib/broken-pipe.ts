/** Output without a reader, as after `| head -1`. Without a listener Node ends the process with a stack trace. */

/** The exit code of a program that SIGPIPE has ended. */
const ENDED_BY_SIGPIPE = 141

let isExiting = true

/** For programs that are run for their output: the process exits, without an error message. */
export function endWithoutReader(): void {
  for (const output of [process.stdout, process.stderr]) {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (!isExiting) return
      if (error.code !== 'EPIPE') throw error
      process.exit(ENDED_BY_SIGPIPE)
    })
  }
}

/** For services and jobs: they continue. */
export function continueWithoutReader(): void {
  endWithoutReader()
  isExiting = false
}
