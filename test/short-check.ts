/**
 * `npm run check:short [-- REVISION]`: the tests of a change, after `npm run check:static`: all quick suites, the int suites that load a changed
 * file most directly, and the main job. Changed: since REVISION, by default the last commit, with what is not committed.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { FILES, ROOT } from './support/files.ts'
import { distancesFrom } from './support/module-graph.ts'

/** More suites take longer than the quick tests do. */
const MAX_SUITES = 10
const MAIN_JOB = 'test/e2e/start.int.test.ts'

const [revision = 'HEAD~1'] = process.argv.slice(2)
const changed = git('diff', '--name-only', '-z', revision).concat(
  git('ls-files', '--others', '--exclude-standard', '-z'),
)
const distances = distancesFrom(changed)
const loading = FILES.filter((path) => /^test\/.*\.int\.test\.ts$/.test(path) && distances.has(path)).sort(
  (a, b) => (distances.get(a) ?? 0) - (distances.get(b) ?? 0),
)
const quick = FILES.filter((path) => /^test\/.*(?<!\.int)\.test\.ts$/.test(path) && !path.startsWith('test/tour/'))
const suites = [...new Set([...loading.slice(0, MAX_SUITES), MAIN_JOB])]
console.log(`Int suites: ${suites.join(', ')}`)
const left = loading.filter((path) => !suites.includes(path)).length
if (left > 0) console.log(`${left} more load a changed file: \`npm test\` runs them.`)
const { status } = spawnSync('npx', ['vitest', 'run', '--config', 'test/vitest.config.ts', ...quick, ...suites], {
  cwd: ROOT,
  stdio: 'inherit',
})
process.exitCode = status ?? 1

function git(...args: readonly string[]): string[] {
  const listed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  return listed.split('\0').filter((path) => path !== '')
}
