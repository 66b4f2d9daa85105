#!/usr/bin/env node
/** The program of the package: `candlepool` runs the main job, `candlepool backfill` and so on the other commands. */
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { endWithoutReader } from '../lib/broken-pipe.ts'
import { printLine } from '../lib/output.ts'

/** The commands that run until a signal. */
const PROCESSES = ['start', 'ingest', 'aggregate', 'api']

const COMMANDS = {
  start: 'everything in one process: listeners, aggregators and API; where no command is named',
  ingest: 'the listeners as a process of their own',
  aggregate: 'the aggregators as a process of their own',
  api: 'the API as a process of its own',
  backfill: 'reads a range of final history',
  export: 'writes ticks or candles to files',
  status: 'shows how far each network is read, stored and audited',
  sql: 'asks the tables of the market',
  verify: 'compares what is stored with its ticks',
  prove: 'prints what proves a tick; checks such a proof',
  rebuild: 'recomputes candles from ticks',
  rewind: 'takes back all blocks above one',
  keys: 'creates, lists and revokes API keys',
  backup: 'saves all tables',
  restore: 'brings back what was saved',
  migrate: 'brings the tables up to date',
  mcp: 'a running service as tools of the Model Context Protocol',
} as const

endWithoutReader()
const { argv } = process
const [node = '', , first = 'start', ...others] = argv
if (['help', '--help', '-h'].includes(first)) {
  printLine(help())
} else if (['--version', '-v'].includes(first)) {
  printLine(version())
} else if (Object.hasOwn(COMMANDS, first)) {
  process.setSourceMapsEnabled(true)
  const folder = PROCESSES.includes(first) ? 'processes' : '.'
  const entry = join(import.meta.dirname, folder, first + extname(import.meta.filename))
  // The command finds its arguments where Node has them, and processes that it forks run its own file.
  process.argv = [node, entry, ...others]
  await import(pathToFileURL(entry).href)
} else {
  printLine(`There is no ${first.startsWith('-') ? 'option' : 'command'} ${first}.\n\n${help()}`, process.stderr)
  process.exitCode = 1
}

function help(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length))
  return [
    'Usage: candlepool [COMMAND] [OPTIONS]',
    '',
    'Market data of Uniswap v3 and v4 pools. Settings are environment variables.',
    '',
    'Commands:',
    ...Object.entries(COMMANDS).map(([name, does]) => `  ${name.padEnd(width)}  ${does}`),
    '',
    'Options:',
    '  --help     shows this; after a command, its own',
    '  --version  the version of the package',
    '',
    'Examples:',
    '  candlepool',
    '  ETHEREUM_RPC_URL=wss://… candlepool start',
    '  candlepool status --help',
  ].join('\n')
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
}
