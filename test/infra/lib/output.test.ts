/** Text of nodes, tokens and clients on a terminal and in log lines: without control characters, wherever it is printed. */
import { readdirSync, readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import pretty from 'pino-pretty'
import { expect, test } from 'vitest'
import { inOneLine, printable, printLine, printProgress } from '../../../infra/lib/output.ts'
import { openLogLines } from '../../../infra/telemetry/log-lines.ts'
import { RpcFailed } from '../../../ingest/rpc/rpc-error.ts'

/** Clears the screen, sets the title, begins a link, overwrites a line, turns the direction. */
const EVIL =
  'a\u001b[2J\u001b]0;title\u0007\u001b]8;;http://x\u001b\\\u009b31m\rb\u0008\u007f\u202e\u2066\u2028\u0000\tc'
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/

function written(print: (output: NodeJS.WriteStream) => void): string {
  const output = new PassThrough()
  print(output as unknown as NodeJS.WriteStream)
  return String(output.read())
}

test('control characters are shown as escapes, and other text as it is', () => {
  expect(printable(EVIL)).not.toMatch(CONTROL)
  expect(printable('\u001b[2J')).toBe('\\u001b[2J')
  for (const text of ['USD₮0 köstet 5 € 🦄', 'two\nlines']) expect(printable(text)).toBe(text)
  expect(inOneLine(`one\n${EVIL}`)).not.toMatch(/\n/)
})

test('a line and its progress have none but those of the program', () => {
  expect(written((output) => printLine(EVIL, output))).not.toMatch(CONTROL)
  const progress = written((output) => printProgress(EVIL, true, output))
  expect(progress.startsWith('\r\u001b[K')).toBe(true)
  expect(progress.slice('\r\u001b[K'.length)).not.toMatch(CONTROL)
})

test('a log line of an error of a node has none, on a terminal as well', async () => {
  const terminal = new PassThrough()
  const destinations = [pretty({ destination: terminal, colorize: false, singleLine: true, sync: true })]
  let lines = ''
  const write = (text: string) => {
    lines += JSON.parse(text).error
    for (const destination of destinations) destination.write(text)
  }
  const report = openLogLines('trace', (text) => text, { write })
  const error = new RpcFailed('here', { kind: 'unreachable' }, new Error(`${EVIL}\nINFO: all is well`))
  report({ kind: 'rpc-failed', network: 'ethereum', endpoint: 'here', error, retryMs: 0 })
  await new Promise((resolve) => setImmediate(resolve))
  expect(lines).toContain('all is well')
  expect(lines).not.toMatch(CONTROL)
  const shown = String(terminal.read())
  expect(shown).toContain('all is well')
  expect(shown.trimEnd()).not.toMatch(CONTROL)
  expect(shown.trimEnd()).not.toMatch(/\n\s*INFO/)
})

test('no other file writes to standard output or error', () => {
  const all = readdirSync('infra', { recursive: true, encoding: 'utf8' })
  const files = all.filter((file) => file.endsWith('.ts') && file !== 'lib/output.ts')
  const writing = files.filter((file) =>
    /\b(stdout|stderr)\.write\(|\bconsole\.\w+\(/.test(readFileSync(`infra/${file}`, 'utf8')),
  )
  expect(files.length).toBeGreaterThan(100)
  expect(writing).toEqual([])
})
