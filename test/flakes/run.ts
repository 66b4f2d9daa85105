/**
 * `npm run flakes [-- PATH…]`: repeats the suites beside busy loops, and lists the tests that failed in some repetitions. A test that only an idle
 * machine passes fails for the first user with another one.
 */
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { temporaryFolder } from '../support/candlepool.ts'
import { ROOT } from '../support/files.ts'
import type { VitestReport } from '../support/vitest-report.ts'
import { unsteadyIn } from './unsteady.ts'

const USAGE = `Usage: npm run flakes [-- --times N] [--loops N] [PATH…]

Repeats all suites, or those of the paths, beside busy loops, and lists the tests that failed.

Options:
  --times N   repetitions: 5 where absent
  --loops N   busy loops: 6 where absent

Example:
  npm run flakes -- --times 3 test/api/market
`

const { times, loops, paths } = readRequest()
const folder = await temporaryFolder()
const busy = Array.from({ length: loops }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
const runs: VitestReport[] = []
try {
  for (let time = 1; time <= times; time++) {
    console.log(`Repetition ${time} of ${times}, beside ${loops} busy loops`)
    runs.push(await repeat(join(folder.path, `${time}.json`)))
  }
} finally {
  for (const loop of busy) loop.kill('SIGKILL')
  await folder.remove()
}
const unsteady = unsteadyIn(runs)
for (const { name, failures, message } of unsteady) console.log(`${failures} of ${times}  ${name}\n        ${message}`)
console.log(unsteady.length === 0 ? `No test failed in ${times} repetitions.` : `${unsteady.length} tests failed.`)
process.exitCode = unsteady.length === 0 ? 0 : 1

function readRequest(): { times: number; loops: number; paths: readonly string[] } {
  const options = {
    times: { type: 'string', default: '5' },
    loops: { type: 'string', default: '6' },
    help: { type: 'boolean' },
  } as const
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    if (values.help) {
      console.log(USAGE)
      process.exit()
    }
    const [times, loops] = [Number(values.times), Number(values.loops)]
    if (!(Number.isInteger(times) && times > 0)) throw new Error('--times is a whole number above 0.')
    if (!(Number.isInteger(loops) && loops >= 0)) throw new Error('--loops is a whole number.')
    return { times, loops, paths: positionals }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
    process.exit(2)
  }
}

async function repeat(report: string): Promise<VitestReport> {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts']
  const child = spawn(
    process.execPath,
    [...args, '--reporter=dot', '--reporter=json', `--outputFile.json=${report}`, ...paths],
    { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, SUITES: 'all' } },
  )
  await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  return JSON.parse(await readFile(report, 'utf8')) as VitestReport
}
