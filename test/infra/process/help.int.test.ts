/** Every command of package.json prints its usage, and refuses other arguments. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { entryOf } from '../../support/candlepool.ts'
import { drawn } from '../../support/sample.ts'

const ROOT = join(import.meta.dirname, '../../..')
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
const PROGRAMS = Object.entries(scripts).flatMap(([name, command]) => {
  const [, file] = /^node --import tsx (\S+)$/.exec(command) ?? []
  return file === undefined ? [] : [[name, file] as const]
})

function call(file: string, ...args: string[]) {
  // Nothing is read before the arguments, a bad environment neither.
  const env = { ...process.env, PORT: 'not a port', DATA_DIR: '/nowhere' }
  const isEntry = file.startsWith('infra/bin/')
  const entry = isEntry ? entryOf(basename(file, '.ts')) : ['--import', 'tsx', file]
  const { status, stdout, stderr } = spawnSync(process.execPath, [...entry, ...args], {
    cwd: ROOT,
    env,
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

test('there are such commands', () => {
  expect(PROGRAMS.map(([name]) => name)).toEqual(
    expect.arrayContaining(['start', 'ingest', 'aggregate', 'api', 'backfill', 'migrate', 'keys', 'verify', 'restore']),
  )
})

test.each(drawn('commands with --help', PROGRAMS, 8))(
  'npm run %s -- --help shows usage and an example, and is no failure',
  (name, file) => {
    const { status, stdout, stderr } = call(file, '--help')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(name === 'start' ? /Usage: npm start\n/ : new RegExp(`Usage: npm run (-s )?${name}\\b`))
    expect(stdout).toMatch(/\nExamples?:\n {2}\S/)
  },
)

// The arguments of `test:containers` are those of vitest.
const OWN_ARGUMENTS = PROGRAMS.filter(([name]) => name !== 'test:containers')
test.each(drawn('commands', OWN_ARGUMENTS, 7))(
  'npm run %s refuses an option that it does not have, by its name',
  (name, file) => {
    const args = name === 'keys' ? ['create', '--plan', 'free'] : []
    const { status, stdout, stderr } = call(file, ...args, '--no-such-option')
    expect(status).toBeGreaterThan(0)
    expect(stderr).toContain('--no-such-option')
    expect(`${stdout}${stderr}`).not.toContain('not a port')
  },
)
