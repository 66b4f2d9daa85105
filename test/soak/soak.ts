/**
 * `npm run soak -- --minutes 60`: fresh seeds of simulation, lies, chaos and readers side by side until the time is over, and one summary.
 * `--only simulation,lies,chaos,readers` chooses. A seed that fails is printed and added to `test/simulation/kept-seeds.json`; the exit code is 1 then.
 */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { byFolder, type Functions } from '../readers/reached.ts'
import { KEPT_SEEDS_FILE, type KeptSeed } from '../support/seeds.ts'
import type { SoakReport } from '../support/soak-report.ts'

type Suite = KeptSeed['suite']

const ROOT = join(import.meta.dirname, '../..')
const HISTORIES = 250
const HISTORIES_WITH_LIES = 100
/** Each round takes a few minutes. */
const ROUNDS: Readonly<Record<Suite, { file: string; environment: () => Record<string, string> }>> = {
  simulation: {
    file: 'test/simulation/seeds.test.ts',
    environment: () => seedsInARow(HISTORIES),
  },
  lies: {
    file: 'test/simulation/lies/lie-seeds.test.ts',
    environment: () => seedsInARow(HISTORIES_WITH_LIES),
  },
  chaos: { file: 'test/chaos/chaos.int.test.ts', environment: () => ({ CRASHES: '200', KAFKA_CRASHES: '40' }) },
  readers: { file: 'test/readers/readers.int.test.ts', environment: () => ({ SECONDS: '300' }) },
}
const SUITES = Object.keys(ROUNDS) as Suite[]
const MEMORY_EVERY_MS = 30_000

const USAGE = `Usage: npm run soak [-- --minutes N] [--only SUITES]

Runs fresh seeds of these suites side by side until the time is over: ${SUITES.join(', ')}.

Options:
  --minutes N     60 where absent
  --only SUITES   separated by commas; all where absent

Example:
  npm run soak -- --minutes 60 --only simulation,chaos
`
const options = {
  minutes: { type: 'string', default: '60' },
  only: { type: 'string' },
  help: { type: 'boolean' },
} as const
const { values } = parsed()
if (values.help) {
  console.log(USAGE)
  process.exit()
}
const chosen = SUITES.filter((suite) => values.only === undefined || values.only.split(',').includes(suite))
const minutes = Number(values.minutes)
if (!(minutes > 0) || chosen.length === 0) refuse('--minutes is a number above 0, --only names suites.')

const end = Date.now() + 60_000 * minutes
const folder = await mkdtemp(join(tmpdir(), 'candlepool-soak-'))
const report = join(folder, 'report')
await writeFile(report, '')
const failed: KeptSeed[] = []
const memory: number[] = []
const measuring = setInterval(() => void residentMiB().then((mib) => memory.push(mib)), MEMORY_EVERY_MS)

await Promise.all(chosen.map(runSuite))
clearInterval(measuring)
await summarize()
await rm(folder, { recursive: true, force: true })
process.exitCode = failed.length > 0 ? 1 : 0

function parsed() {
  try {
    return parseArgs({ options })
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}

function refuse(reason: string): never {
  console.error(`${reason}\n\n${USAGE}`)
  process.exit(2)
}

function seedsInARow(count: number) {
  const first = randomInt(1_000_000, 2_000_000_000)
  return { SEEDS: `${first}-${first + count - 1}` }
}

async function runSuite(suite: Suite): Promise<void> {
  const { file, environment } = ROUNDS[suite]
  while (Date.now() < end) {
    const { code, output } = await vitest(file, environment())
    if (code === 0) continue
    const seeds = [...new Set([...output.matchAll(/SEED=(\d+)/g)].map(([, seed]) => Number(seed)))]
    const found = /(?:AssertionError|Error): (.*)/.exec(output)?.[1] ?? 'see the output'
    console.log(`${suite} failed:\n${output.slice(-6_000)}`)
    await keep(seeds.slice(0, 5).map((seed) => ({ suite, seed, found })))
  }
}

function vitest(file: string, more: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', '--reporter=dot', file]
  const env = { ...process.env, NO_COLOR: '1', SOAK_REPORT: report, ...more }
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const add = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-200_000)
  }
  child.stdout.on('data', add)
  child.stderr.on('data', add)
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}

async function keep(seeds: readonly KeptSeed[]): Promise<void> {
  failed.push(...seeds)
  const known = JSON.parse(await readFile(KEPT_SEEDS_FILE, 'utf8')) as KeptSeed[]
  const isNew = ({ suite, seed }: KeptSeed) => !known.some((kept) => kept.suite === suite && kept.seed === seed)
  await writeFile(KEPT_SEEDS_FILE, `${JSON.stringify([...known, ...seeds.filter(isNew)], null, 2)}\n`)
}

async function summarize(): Promise<void> {
  const lines = (await readFile(report, 'utf8')).split('\n').filter((line) => line !== '')
  const sums: Record<string, number> = {}
  const functions = { known: new Set<string>(), reached: new Set<string>() }
  const add = (name: string, count: number) => {
    sums[name] = (sums[name] ?? 0) + count
  }
  for (const line of lines) {
    const { suite, ...counts } = JSON.parse(line) as SoakReport
    for (const [name, count] of Object.entries(counts)) {
      if (name === 'functions') {
        const { known, reached } = count as Record<keyof Functions, string[]>
        for (const one of known) functions.known.add(one)
        for (const one of reached) functions.reached.add(one)
      } else if (typeof count === 'number') add(`${suite}: ${name}`, count)
      else for (const [fault, times] of Object.entries(count)) add(`${suite}: fault: ${fault}`, times)
    }
  }
  console.log(`Soak of ${minutes} minutes`)
  for (const [name, sum] of Object.entries(sums).sort()) console.log(`${String(sum).padStart(10)}  ${name}`)
  for (const [folder, reached, known] of byFolder(functions))
    console.log(`${`${reached} of ${known}`.padStart(14)}  functions of ${folder} reached by readers`)
  console.log(
    `    memory  ${memory[1] ?? memory[0] ?? 0} MiB at its start, ${memory.at(-1) ?? 0} MiB at its end, ${Math.max(0, ...memory)} MiB at most`,
  )
  console.log(
    failed.length === 0
      ? '    no seed failed'
      : `    failed: ${failed.map(({ suite, seed }) => `${suite} SEED=${seed}`).join(', ')}`,
  )
}

/** Memory of all descendants in MiB. */
async function residentMiB(): Promise<number> {
  const parents = new Map<number, { parent: number; kib: number }>()
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const status = await readFile(`/proc/${name}/status`, 'utf8').catch(() => '')
    const field = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
    parents.set(Number(name), { parent: field('PPid'), kib: field('VmRSS') })
  }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid)?.parent
    return pid === process.pid || (parent !== undefined && parent > 1 && isOurs(parent))
  }
  const kib = [...parents].filter(([pid]) => isOurs(pid)).reduce((sum, [, one]) => sum + one.kib, 0)
  return Math.round(kib / 1_024)
}
