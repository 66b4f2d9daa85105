/** `npm run backup -- NAME`: all tables into a folder of that name, while everything runs. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { backUp, checkName } from '../clickhouse/backups.ts'
import { UsageError } from '../lib/usage-error.ts'
import { print, progressPrinter, runCommand } from '../process/command.ts'
import { commandLine, type Help, positionalOf, usageOf } from '../process/help.ts'

const HELP: Help = {
  does: 'Saves all tables into the folder `backups/NAME` beside them, while everything runs.',
  usage: ['npm run backup -- NAME'],
  examples: ['npm run backup -- 2026-11-21'],
}

const name = commandLine(HELP, () => checkName(positionalOf(HELP), usageOf(HELP)))
await runCommand(
  async (store) => {
    await backUp(store, name, progressPrinter())
    print(`Saved as backups/${name}, beside the tables.`)
  },
  ({ folder }) => {
    if (folder !== undefined && existsSync(join(folder, 'backups', name)))
      throw new UsageError(`There is a backup ${name} already: choose another NAME.`)
  },
)
