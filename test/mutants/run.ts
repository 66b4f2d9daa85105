/**
 * `npm run mutants`: plants one fault after the other, runs the suites that should notice it, and prints which one did. A fault that survives is a missing
 * test: the command ends with 1 then. A test that fails without the fault, too, has not found it. Words after `--` choose the faults with each of them in their area or name.
 */
import { spawn } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { VitestReport } from '../support/vitest-report.ts'
import { MUTANTS, type NamedMutant } from './mutants.ts'
import { copySources } from './plant.ts'

type Found = { kind: 'found'; suite: string; by: string }
type Verdict = Found | { kind: 'survived' } | { kind: 'broken'; reason: string }

const { positionals, values } = parseArgs({ allowPositionals: true, options: { help: { type: 'boolean' } } })
if (values.help) {
  console.log(
    'Usage: npm run mutants [-- WORD…]\n\nPlants the faults with each of the words in their area or name; all without a word.\n\nExample:\n  npm run mutants -- ledger',
  )
  process.exit(0)
}
const chosen = MUTANTS.filter(({ area, name }) => positionals.every((word) => `${area}: ${name}`.includes(word)))
const copy = await copySources(['test'])
/** Tests of a suite that fail without a fault. */
const failingWithout = new Map<string, readonly string[]>()
const counts = { found: 0, survived: 0, broken: 0 }
try {
  for (const mutant of chosen) {
    const began = Date.now()
    const verdict = await confirmed(await verdictOf(mutant))
    counts[verdict.kind]++
    const told = verdict.kind === 'found' ? verdict.by : verdict.kind === 'broken' ? verdict.reason : '-'
    const seconds = `${Math.round((Date.now() - began) / 1000)} s`
    console.log(`${verdict.kind.padEnd(8)}  ${seconds.padStart(5)}  ${mutant.area}: ${mutant.name}  ←  ${told}`)
  }
} finally {
  await copy.remove()
}
console.log(`\n${counts.found} of ${chosen.length} found, ${counts.survived} survived, ${counts.broken} broken.`)
process.exitCode = counts.found === chosen.length ? 0 : 1

async function verdictOf(mutant: NamedMutant): Promise<Verdict> {
  await copy.plant(mutant)
  try {
    for (const suite of mutant.suites) {
      const verdict = await runSuite(suite)
      if (verdict.kind !== 'survived') return verdict
    }
    return { kind: 'survived' }
  } finally {
    await copy.restore(mutant)
  }
}

/** On a busy machine a test may fail for another reason. One that is drawn may not be among those of the run without a fault. */
async function confirmed(verdict: Verdict): Promise<Verdict> {
  if (verdict.kind !== 'found') return verdict
  const { suite, by } = verdict
  const failing = failingWithout.get(suite) ?? failedIn(await reportOf(suite))
  failingWithout.set(suite, failing)
  return failing.includes(by) ? { kind: 'broken', reason: `${by}: fails without the fault, too` } : verdict
}

/** A file that does not load proves nothing: the fault is no program then. */
async function runSuite(suite: string): Promise<Verdict> {
  const report = await reportOf(suite, '--bail=1')
  if (!report || report.testResults.length === 0) return { kind: 'broken', reason: `${suite} did not run` }
  const [by] = failedIn(report)
  if (by !== undefined) return { kind: 'found', suite, by }
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  // Where no ClickHouse starts, tests of tables skip.
  if (!tests.some(({ status }) => status === 'passed')) return { kind: 'broken', reason: `${suite} ran no test` }
  if (report.success) return { kind: 'survived' }
  return { kind: 'broken', reason: report.testResults.map(({ message }) => message.split('\n')[0]).join() }
}

async function reportOf(suite: string, ...more: string[]): Promise<VitestReport | undefined> {
  const project = suite.endsWith('.int.test.ts') || suite.startsWith('test/tour') ? 'int' : 'quick'
  const { root } = copy
  const out = join(root, 'report.json')
  await rm(out, { force: true })
  const args = ['run', '--config', 'test/vitest.config.ts', '--project', project, '--reporter=json', ...more]
  await ended(root, ['node_modules/vitest/vitest.mjs', ...args, `--outputFile=${out}`, suite])
  return readFile(out, 'utf8').then(
    (text) => JSON.parse(text) as VitestReport,
    () => undefined,
  )
}

function failedIn(report: VitestReport | undefined): readonly string[] {
  const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? []
  return tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName.trim())
}

function ended(cwd: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const env = { WAIT_SECONDS: '60', ...process.env, NO_COLOR: '1' }
    const child = spawn(process.execPath, args, { cwd, stdio: 'ignore', env })
    child.on('error', reject)
    child.on('exit', () => resolve())
  })
}
