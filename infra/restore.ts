/** `npm run restore -- NAME`: the tables as they were saved, into tables that hold nothing yet. */
import { checkName, restore } from './backups.ts'
import { ENGINE_DATABASE } from './clickhouse/engine-config.ts'
import { print, runCommand } from './command.ts'

await runCommand(async ({ owner }, { store }) => {
  const name = checkName(process.argv[2], 'Usage: npm run restore -- NAME')
  await restore(owner, store.kind === 'server' ? store.database : ENGINE_DATABASE, name)
  print(`Restored from backups/${name}.`)
})
