/** `npm run restore -- NAME`: the tables as they were saved, into tables that hold nothing yet. */
import { parseArgs } from 'node:util'
import { checkName, restore } from './backups.ts'
import { print, runCommand, telling } from './command.ts'
import { commandLine, type Help, parsed, usageOf } from './help.ts'
import { UsageError } from './usage-error.ts'

const HELP: Help = {
  does: 'Makes the tables of a backup, where nothing is stored yet.',
  usage: ['npm run restore -- NAME'],
  examples: ['npm run restore -- 2026-11-21'],
}

const name = commandLine(HELP, () => {
  const { positionals } = parsed(HELP, () => parseArgs({ options: {}, allowPositionals: true }))
  if (positionals.length > 1) throw new UsageError(`There is one NAME, and no ${positionals[1]}.\n${usageOf(HELP)}`)
  return checkName(positionals[0], usageOf(HELP))
})
await runCommand(async (store) => {
  await restore(store, name, telling())
  await store.sync?.()
  print(`Restored from backups/${name}.`)
})
