/** `npm run migrate`: brings the tables up to date. Every other process does so too when it starts. */
import { print, runCommand } from '../process/command.ts'
import { withoutArguments } from '../process/help.ts'

withoutArguments({
  does: 'Brings the tables up to date, and ends. Every other process does so too when it starts.',
  usage: ['npm run migrate'],
  examples: ['CLICKHOUSE_URL=http://localhost:8123 npm run migrate'],
})
await runCommand(async () => print('The tables are up to date.'))
