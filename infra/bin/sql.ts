/** `npm run sql`: statements that read the market's tables, from the arguments, standard input or a prompt. */
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { SQL_USER } from '../clickhouse/sql-port/sql-port.ts'
import { isEnded, statementsOf } from '../clickhouse/statements.ts'
import type { Store } from '../clickhouse/store.ts'
import type { Config } from '../config/config.ts'
import { printable } from '../lib/output.ts'
import { UsageError } from '../lib/usage-error.ts'
import { print, runCommand } from '../process/command.ts'
import { commandLine, type Help, parsed, usageOf } from '../process/help.ts'
import { describeError } from '../telemetry/describe-error.ts'

const HELP: Help = {
  does: 'Runs statements that read the market, with ; between them: those of the argument, of standard input, or of a prompt, where one ends with ;',
  usage: ["npm run -s sql -- ['SELECT …; SELECT …'] [--format CSVWithNames] [--connection]", 'npm run -s sql < FILE'],
  options: [
    ['--format NAME', "any of ClickHouse's: CSVWithNames, JSONEachRow, Parquet, …; a table for people if not given"],
    ['--connection', 'the address, user and password for tools such as DBeaver and Grafana, where SQL_PORT is set'],
  ],
  examples: [
    "npm run -s sql -- 'SELECT pair, count() AS ticks FROM market_ticks GROUP BY pair' --format CSVWithNames > ticks.csv",
  ],
}

const TABLE = 'PrettyCompactMonoBlock'

const { values, script } = commandLine(HELP, readArguments)
await runCommand(async (store, config) => {
  if (values.connection) return print(...connectionOf(store, config))
  const format = values.format ?? TABLE
  const once = script ?? (process.stdin.isTTY ? undefined : await text(process.stdin))
  if (once === undefined) await prompt(store, format)
  else if (statementsOf(once).length === 0) throw new UsageError(usageOf(HELP))
  else await runAll(store, once, format)
})

function readArguments() {
  const { values, positionals } = parsed(HELP, () =>
    parseArgs({
      options: { format: { type: 'string' }, connection: { type: 'boolean', default: false } },
      allowPositionals: true,
    }),
  )
  if (positionals.length > 1)
    throw new UsageError(`More than one argument: put the statements in quotes.\n${usageOf(HELP)}`)
  return { values, script: positionals[0] }
}

/** Ends at the first statement that is refused. */
async function runAll(store: Store, script: string, format: string): Promise<void> {
  const statements = statementsOf(script)
  for (const [index, query] of statements.entries()) {
    await ask(store, query, format).catch((cause: unknown) => {
      if (statements.length === 1) throw cause
      throw new Error(`Statement ${index + 1} of ${statements.length}`, { cause })
    })
  }
}

/** As it comes: an answer may be larger than memory. */
async function ask({ analyst }: Store, query: string, format: string): Promise<void> {
  const { stream } = await analyst.exec({ query, http_headers: { 'X-ClickHouse-Format': format } })
  // A program gets the bytes, a terminal printable text.
  if (!process.stdout.isTTY) return pipeline(stream, process.stdout, { end: false })
  return pipeline(stream.setEncoding('utf8'), shown, process.stdout, { end: false })
}

async function* shown(texts: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of texts) yield printable(text)
}

async function prompt(store: Store, format: string): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: 'sql> ' })
  print('market_pools, market_ticks, market_candles. A statement ends with ; and exit leaves.')
  let written = ''
  lines.on('SIGINT', () => lines.close())
  lines.prompt()
  for await (const line of lines) {
    if (written === '' && /^\s*(exit|quit)?\s*;?\s*$/.test(line)) {
      if (line.trim() !== '') break
    } else {
      written += `${line}\n`
      if (isEnded(written)) {
        await runAll(store, written, format).catch((error: unknown) => print(describeError(error)))
        written = ''
      }
    }
    lines.setPrompt(written === '' ? 'sql> ' : '  -> ')
    lines.prompt()
  }
  lines.close()
}

function connectionOf({ engine }: Store, { sqlPort, sqlHost }: Config): string[] {
  if (!engine) {
    return ['The tables are on the server of CLICKHOUSE_URL: connect there, as a user who may read market_*.']
  }
  if (sqlPort === undefined)
    throw new UsageError('SQL_PORT is not set: start with SQL_PORT=8123 npm start, and set it here too.')
  const { database, sqlPassword } = engine
  return [
    `Address   http://${sqlHost}:${sqlPort}`,
    `Database  ${database}`,
    `User      ${SQL_USER}`,
    `Password  ${sqlPassword}`,
    `JDBC      jdbc:clickhouse:http://${sqlHost}:${sqlPort}/${database}`,
  ]
}
