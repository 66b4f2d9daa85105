/**
 * Follows the README and the documents that it links to in a fresh clone: each command as printed, in the order printed, with its seconds.
 * `node --import tsx test/e2e/fresh-clone.ts [FOLDER]`; the ports that the README prints have to be free.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VARIABLES } from '../../infra/config/config.ts'
import { commandsOf, NOT_RUN, type Reasons, reasonOf } from '../support/commands.ts'
import { type Ended, openShell } from '../support/shell.ts'

const ROOT = join(import.meta.dirname, '../..')

const DOCUMENTS = [
  'README.md',
  'api/extras/docs/api.md',
  'api/extras/docs/udf.md',
  'api/extras/docs/SKILL.md',
  'api/extras/clients/typescript/README.md',
  'infra/docs/configuration.md',
  'infra/docs/deployment.md',
  'infra/docs/monitoring.md',
  'infra/docs/sql.md',
  'infra/docs/export.md',
  '.github/CONTRIBUTING.md',
  'test/bench/README.md',
]

const SKIPPED: Reasons = [
  ...NOT_RUN,
  ['pip install', 'a package of Python'],
  ['npm run restore --', 'a folder of its own: runbook-restore.int.test.ts'],
  ['npm run check', 'every test: .ci/run'],
  ['npx candlepool', 'an installed package: package.int.test.ts'],
  ['npm run soak', 'takes an hour: nightly in CI'],
  ['npm test -- test/e2e', 'takes minutes: .ci/run'],
  ['npm run test:containers', 'Docker: test/containers'],
  ['.ci/run', 'takes a quarter of an hour'],
]
/** Run, though the beginning of a command that is not. */
const RUN = ['npm test -- test/e2e/recorded-day']
const EVERY_TEST = 'npm test'
/** Named in a sentence, without what they need. */
const MENTIONED = ['npm run backfill', 'npm run export', 'npm run rewind']

/** Placeholders for a value of the reader, and what the text says to fill in. */
const FILLED = [
  { placeholder: 'cp_…', printed: /^ {2}Key {3}(cp_\S+)$/m },
  { placeholder: 'key_2de6b88ed779', printed: /(key_[0-9a-f]{12})/ },
] as const
const PLACEHOLDER = /…|<[a-z-]+>|(?<![\w$"-])(?:NAME|JOB|ID|FILE|PORT)\b(?!=)/

/** A document may print a question that is refused, and the answer of a process that is not ready yet. */
const EXPECTED: readonly (readonly [part: string, statuses: readonly number[]])[] = [
  ['interval=2d', [400]],
  ['/health/ready', [200, 503]],
]

type Row = { command: string; seconds?: number; result: string; isBad: boolean }

function readAll(clone: string): string {
  return DOCUMENTS.map((path) => readFileSync(join(clone, path), 'utf8')).join('\n')
}

function reasonFor(command: string): string | undefined {
  if (RUN.includes(command)) return undefined
  if (MENTIONED.includes(command)) return 'a mention without arguments'
  return command === EVERY_TEST ? 'every test: .ci/run' : reasonOf(command, SKIPPED)
}

function resultOf(command: string, { code, status }: Ended): Pick<Row, 'result' | 'isBad'> {
  if (code === undefined) return { result: 'ready', isBad: false }
  if (code !== 0 || !command.startsWith('curl ')) return { result: `exit ${code}`, isBad: code !== 0 }
  const [, statuses = [200]] = EXPECTED.find(([part]) => command.includes(part)) ?? []
  return { result: `HTTP ${status}`, isBad: status === undefined || !statuses.includes(status) }
}

async function follow(folder: string): Promise<readonly Row[]> {
  const home = join(folder, 'home')
  mkdirSync(home)
  // Says the status of each answer, which the printed command does not.
  writeFileSync(join(home, '.curlrc'), 'write-out = "%{stderr}HTTP %{http_code}\\n"\n')
  const npm = (name: string) => execFileSync('npm', ['config', 'get', name], { encoding: 'utf8', stdio: 'pipe' }).trim()
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !VARIABLES.includes(name)))
  const environment = { ...own, HOME: home, npm_config_cache: npm('cache'), npm_config_userconfig: npm('userconfig') }
  const clone = join(folder, 'candlepool')
  const rows: Row[] = []
  const say = (row: Row) => {
    rows.push(row)
    const seconds = row.seconds === undefined ? '' : row.seconds.toFixed(1)
    console.log(`${seconds.padStart(7)}  ${row.result.padEnd(9)}  ${row.command}`)
  }
  const shell = openShell(folder, environment)
  try {
    const cloning = `git clone --quiet ${ROOT} candlepool`
    const cloned = await shell.run(cloning)
    say({ command: 'git clone', seconds: cloned.seconds, ...resultOf(cloning, cloned) })
    shell.enter(clone)
    let printed = ''
    for (const { text } of commandsOf(readAll(clone))) {
      const reason = reasonFor(text)
      if (reason !== undefined) {
        say({ command: text, result: `not run: ${reason}`, isBad: false })
        continue
      }
      const command = FILLED.reduce((all, { placeholder, printed: pattern }) => {
        const value = pattern.exec(printed)?.[1]
        return value === undefined || placeholder === value ? all : all.replaceAll(placeholder, value)
      }, text)
      const isGuess = PLACEHOLDER.test(command) || FILLED.some(({ placeholder }) => command.includes(placeholder))
      if (isGuess) {
        say({ command: text, result: 'GUESS', isBad: true })
        continue
      }
      const ended = await shell.run(command)
      printed += ended.output
      const row = { command: text, seconds: ended.seconds, ...resultOf(command, ended) }
      say(row)
      if (row.isBad)
        console.log(
          ended.output
            .split('\n')
            .slice(-30)
            .join('\n')
            .replaceAll(/cp_\w+/g, 'cp_…'),
        )
    }
    const left = execFileSync('git', ['status', '--porcelain'], { cwd: clone, encoding: 'utf8' }).trim()
    say({ command: 'git status --porcelain', result: left === '' ? 'clean' : left, isBad: left !== '' })
  } finally {
    await shell.close()
  }
  return rows
}

const [given] = process.argv.slice(2)
const folder = given ?? (await mkdtemp(join(tmpdir(), 'candlepool-clone-')))
mkdirSync(folder, { recursive: true })
const rows = await follow(folder)
if (given === undefined) await rm(folder, { recursive: true, force: true })
const run = rows.filter(({ seconds }) => seconds !== undefined)
const guessed = rows.filter(({ result }) => result === 'GUESS')
const failed = rows.filter(({ isBad, result }) => isBad && result !== 'GUESS')
console.log(
  `${run.length} run, ${failed.length} of them failed; ${rows.length - run.length - guessed.length} not run; ${guessed.length} that needed a guess`,
)
if (failed.length + guessed.length > 0) process.exitCode = 1
