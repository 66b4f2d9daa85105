/**
 * `npm run bench [-- name…]`: every bench, or those named, one after the other and each in a process of its own. Each says beside its
 * figures what the barest way to do the same work takes in the same run. Nothing is written outside of the system's temporary folder.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { join } from 'node:path'

const BENCHES = [
  'decode',
  'proof',
  'log',
  'backfill',
  'memory',
  'head',
  'flush',
  'tables',
  'requests',
  'start',
  'stored',
  'large',
  'export',
  'e2e',
  'streams',
  'chains',
  'load',
  'answers',
  'walk',
  'sql',
  'scale',
  'page',
  'hostile',
] as const

/** Former names, accepted for one version. */
const RENAMED: Readonly<Record<string, string>> = { road: 'e2e' }

const named = process.argv.slice(2).map((name) => {
  const renamed = RENAMED[name]
  if (renamed !== undefined) console.error(`The bench ${name} is called ${renamed} now.`)
  return renamed ?? name
})
if (named.includes('--help')) {
  console.log(
    `Usage: npm run bench [-- NAME…]\n\nRuns every bench, or those named: ${BENCHES.join(', ')}.\n\nExample:\n  npm run bench -- flush`,
  )
  process.exit(0)
}
const unknown = named.filter((name) => !BENCHES.some((it) => it === name))
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(', ')}. There are ${BENCHES.join(', ')}.`)
  process.exit(2)
}

console.log(`Node ${process.version}, ${cpus().length} cores of ${cpus()[0]?.model ?? 'an unknown kind'}`)
for (const name of BENCHES) {
  if (named.length > 0 && !named.includes(name)) continue
  const script = join(import.meta.dirname, `${name}.bench.ts`)
  const bench = spawn(process.execPath, ['--import', 'tsx', script], { stdio: 'inherit' })
  const [code] = await once(bench, 'exit')
  if (code !== 0) {
    console.error(`The bench ${name} ended with ${code}.`)
    process.exitCode = 1
  }
}
