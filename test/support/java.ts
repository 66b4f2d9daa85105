/** Programs in Java that tests start, and that end with the test's process. */
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { inputOf } from './child-input.ts'

const START_TIMEOUT_MS = 300_000
/** Starts in a second rather than runs fast for hours. */
const FAST_START = ['-Xmx512m', '-Xms256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']

export type JavaProcess = { kill(): Promise<void> }

/**
 * A shell stands between: it kills the program when its standard input ends, which the system sees to when this process dies in
 * whatever way. In a shell's background, standard input is /dev/null, hence descriptor 3.
 */
const DIE_WITH_PARENT = 'exec 3<&0; "$@" & child=$!; (cat <&3 >/dev/null; kill -9 $child 2>/dev/null) & wait $child'

/** Resolves once it is ready. Rejects with its name and the last line that it printed. */
export async function startJava(
  name: string,
  args: readonly string[],
  isReady: () => Promise<boolean>,
): Promise<JavaProcess> {
  const command = ['java', ...FAST_START, ...args]
  const child = spawn('sh', ['-c', DIE_WITH_PARENT, 'sh', ...command], { stdio: ['pipe', 'pipe', 'pipe'] })
  const input = inputOf(child)
  let output = ''
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2000)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = async () => {
    input.end()
    await exited
  }
  const deadline = Date.now() + START_TIMEOUT_MS
  while (!(await isReady())) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await kill()
      throw new Error(`${name} did not start: ${output.trim().split('\n').at(-1) ?? 'it said nothing'}`)
    }
    await sleep(50)
  }
  return { kill }
}
