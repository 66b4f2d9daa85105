/** Shared by the commands: tables of a running process or opened for the command, output, and error messages. */

import { asTyped } from '../../ingest/lib/as-typed.ts'
import type { Store } from '../clickhouse/store.ts'
import { BadConfiguration } from '../config/bad-configuration.ts'
import { type Config, readConfig } from '../config/config.ts'
import { currentStoreFolder } from '../config/folders.ts'
import { printLine } from '../lib/output.ts'
import { UsageError } from '../lib/usage-error.ts'
import { describeError } from '../telemetry/describe-error.ts'
import { resolveDeployment, withTables } from './deployment.ts'

/** Runs `command` on the tables of this configuration: beside a running process, or alone. */
export async function runCommand(
  command: (store: Store, config: Config) => Promise<void>,
  /** Throws where the command makes no sense, before anything is opened. `folder` is that of the embedded engine; undefined before a devnet has one. */
  check: (place: { folder: string | undefined; config: Config }) => void = () => {},
): Promise<void> {
  const fail = (error: unknown) => {
    const isPlain = error instanceof UsageError || error instanceof BadConfiguration
    printLine(isPlain ? error.message : describeError(error), process.stderr)
    process.exitCode = 1
  }
  // Node would print it as it is, with addresses that hold secrets.
  process.on('uncaughtException', (error) => {
    fail(error)
    process.exit()
  })
  try {
    const config = readConfig()
    const folder = await currentStoreFolder(config)
    check({ folder, config })
    if (folder === undefined && config.store.kind === 'embedded') {
      throw new UsageError(asTyped('Nothing is stored yet: run `npm start` first, or set CLICKHOUSE_URL or NETWORKS.'))
    }
    await withTables(resolveDeployment(config), (store) => command(store, config))
  } catch (error) {
    fail(error)
  }
}

export function print(...lines: readonly string[]): void {
  printLine(lines.join('\n'))
}

/** Progress of a command, on standard error: each line once, at most one in five seconds. */
export function progressPrinter(): (line: string) => void {
  let printedAt = performance.now()
  let last = ''
  return (line) => {
    if (line === last || performance.now() - printedAt < LINE_MS) return
    printedAt = performance.now()
    last = line
    printLine(line, process.stderr)
  }
}

const LINE_MS = 5_000

/** Columns as wide as their widest cell. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  print(
    ...rows.map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    ),
  )
}
