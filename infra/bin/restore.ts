/** `npm run restore -- NAME`: the tables as they were saved, into tables that hold nothing yet. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { checkName, restore } from '../clickhouse/backups.ts'
import { UsageError } from '../lib/usage-error.ts'
import { print, progressPrinter, runCommand } from '../process/command.ts'
import { commandLine, type Help, positionalOf, usageOf } from '../process/help.ts'

const HELP: Help = {
  does: 'Makes the tables of a backup, where nothing is stored yet.',
  usage: ['npm run restore -- NAME'],
  examples: ['npm run restore -- 2026-11-21'],
}

const name = commandLine(HELP, () => checkName(positionalOf(HELP), usageOf(HELP)))
await runCommand(
  async (store, config) => {
    await restore(store, name, progressPrinter(), config.chain.kind)
    await store.sync?.()
    print(`Restored from backups/${name}.`)
  },
  ({ folder, config }) => {
    if (config.store.kind !== 'embedded') return
    if (folder === undefined)
      throw new UsageError(
        `${config.dataDir} has no devnet, and no network is configured. To restore a real network, set NETWORKS or its _RPC_URL as when it was saved. To restore a devnet, copy devnet and devnet-store from its DATA_DIR to this one first, and the backup as infra/docs/runbook.md says.`,
      )
    const saved = join(folder, 'backups', name)
    if (!existsSync(saved)) throw new UsageError(`There is no backup ${name}: copy it to ${saved} first.`)
  },
)
