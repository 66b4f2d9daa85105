/** `npm run restore -- NAME`: the tables as they were saved, into tables that hold nothing yet. */
import { checkName, restore } from './backups.ts'
import { print, runCommand, telling } from './command.ts'

await runCommand(async (store) => {
  const name = checkName(process.argv[2], 'Usage: npm run restore -- NAME')
  await restore(store, name, telling())
  await store.sync?.()
  print(`Restored from backups/${name}.`)
})
