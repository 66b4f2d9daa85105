/** A child that exits early fails no run by the input that it has not read. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { inputOf } from './child-input.ts'
import { SOURCES } from './sources.ts'

/** More than a pipe holds, so that a write of it is still under way when the child exits. */
const LARGE = 'SELECT 1\n'.repeat(100_000)
const HELPER = 'test/support/child-input.ts'
/** This process's own standard input, and an option of that name, are no input of a child. */
const INPUT = /(?<!\bprocess)\??\.stdin\b|\{[^{}]*\bstdin\b[^{}]*\}\s*=/g

const inputsOf = (text: string): string[] => text.match(INPUT) ?? []

test('a shell that exits before it reads its input fails nothing but by its exit code', async () => {
  const child = spawn('bash', ['-c', 'exit 3'])
  inputOf(child).end(LARGE)
  expect(await once(child, 'close')).toEqual([3, null])
})

test('a shell that closes its input and prints on is read to its end', async () => {
  const child = execFile('bash', ['-c', 'exec 0<&-; sleep 0.1; echo read'])
  const output = once(child.stdout ?? expect.fail(), 'data')
  inputOf(child).end(LARGE)
  expect(await output).toEqual(['read\n'])
})

test('no test reaches the input of a child but through the helper, which handles its errors', () => {
  const tests = SOURCES.filter(({ path }) => path.startsWith('test/') && /\.(ts|mjs)$/.test(path) && path !== HELPER)
  expect(tests.length).toBeGreaterThan(300)
  const own = (path: string) => path === 'test/support/child-input.test.ts'
  const bare = tests.filter(({ path, text }) => !own(path) && inputsOf(text).length > 0).map(({ path }) => path)
  expect(bare).toEqual([])
})

test.each(['child.stdin.end(', 'child.stdin?.write(', 'const { stdin } = child', 'a.pipe(child.stdin)'])(
  'the rule refuses %s',
  (text) => {
    expect(inputsOf(text)).toHaveLength(1)
  },
)

test('the rule takes the input of this process', () => {
  expect(inputsOf('for await (const line of process.stdin)')).toEqual([])
})
