/** `npm run backup -- NAME`: all tables into a folder of that name, while everything runs. */
import { backUp, checkName } from './backups.ts'
import { print, runCommand, telling } from './command.ts'

await runCommand(async (store) => {
  const name = checkName(process.argv[2], 'Usage: npm run backup -- NAME')
  await backUp(store, name, telling())
  print(`Saved as backups/${name}, beside the tables.`)
})
