/** `npm run migrate`: brings the tables up to date. Every other process does so too when it starts. */
import { print, runCommand } from './command.ts'

await runCommand(async () => print('The tables are up to date.'))
