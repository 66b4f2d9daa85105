/** Input of child processes in tests. */
import type { ChildProcess } from 'node:child_process'
import type { Writable } from 'node:stream'

/**
 * The standard input of a child, to write to and to end. A child may exit before it has read its input, and the write then fails with
 * EPIPE: that fails no test, since its exit code and its output are what a test asserts.
 */
export function inputOf({ stdin }: ChildProcess): Writable {
  if (stdin === null) throw new Error('The child has no pipe as its standard input.')
  return stdin.on('error', () => undefined)
}
