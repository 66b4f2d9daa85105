/** `npm run keys -- create|list|revoke|set-plan`: API keys and their plans. */
import { parseArgs } from 'node:util'
import { createNamedKey, listKeys, revokeKey, setPlan } from '../../api/accounts/keys.ts'
import { isPlan, PLANS, type PlanName } from '../../api/lib/plan.ts'
import { parseTime } from '../../api/query/time.ts'
import { asTyped } from '../../ingest/lib/as-typed.ts'
import type { Store } from '../clickhouse/store.ts'
import { UsageError } from '../lib/usage-error.ts'
import { print, printTable, runCommand } from '../process/command.ts'
import { commandLine, type Help, optionsOf, parsed, usageOf } from '../process/help.ts'

const HELP: Help = {
  does: 'Makes, lists, revokes and changes the keys of the API. A key is shown once, when it is made: the tables keep only its hash.',
  usage: [
    `npm run keys -- create --plan ${Object.keys(PLANS).join('|')} [--name NAME] [--billing-start DATE]`,
    'npm run keys -- list',
    'npm run keys -- revoke ID',
    'npm run keys -- set-plan ID PLAN',
  ],
  options: [
    ['--plan PLAN', 'how many credits the key has'],
    ['--name NAME', 'one line of at most 100 characters, for the list'],
    ['--billing-start DATE', 'the first day of a billing month; calendar months if not given'],
    ['ID', 'the handle that `create` and `list` show: key_…'],
  ],
  examples: ['npm run keys -- create --plan free --name ann', 'npm run keys -- revoke key_2de6b88ed779'],
}

/** Longer ones, and control characters, would make the list unreadable. */
const NAME = /^[^\p{Cc}\u2028\u2029]{0,100}$/u

/** The range of a ClickHouse DateTime, in whole years. */
const FIRST_DAY = '1970-01-01'
const LAST_DAY = '2099-12-31'

await runCommand(commandLine(HELP, readCommand))

/** The action that the arguments name. */
function readCommand(): (store: Store) => Promise<void> {
  const [verb, ...args] = process.argv.slice(2)
  if (verb === 'create') {
    const options = { plan: { type: 'string' }, name: { type: 'string' }, 'billing-start': { type: 'string' } } as const
    const values = optionsOf(HELP, options, args)
    return ({ owner }) => create(owner, values)
  }
  const { positionals: rest } = parsed(HELP, () => parseArgs({ args, options: {}, allowPositionals: true }))
  const [id = ''] = rest
  if (verb === 'list' && rest.length === 0) return ({ owner }) => list(owner)
  if (verb === 'revoke' && rest.length === 1)
    return async ({ owner: client }) => changed(await revokeKey({ client, id }), 'revoked')
  if (verb === 'set-plan' && rest.length === 2) {
    const plan = planOf(rest[1])
    return async ({ owner: client }) => changed(await setPlan({ client, id, plan }), `on the plan ${plan}`)
  }
  throw new UsageError(usageOf(HELP))
}

type Client = Parameters<typeof listKeys>[0]

type NewKey = { plan?: string | undefined; name?: string | undefined; 'billing-start'?: string | undefined }

async function create(client: Client, values: NewKey): Promise<void> {
  const plan = planOf(values.plan)
  const { name = '', 'billing-start': start } = values
  if (!NAME.test(name)) throw new UsageError('--name is not one line of at most 100 characters.')
  const billingStart = start === undefined ? undefined : dayOf(start)
  const { key, id } = await createNamedKey({ client, plan, name, billingStart })
  print(`A key on the plan ${plan}, ${id}. It is shown only now:`, '', key)
}

function dayOf(start: string): Date {
  const instant = parseTime(start)
  if (instant === undefined)
    throw new UsageError(`--billing-start ${start} is not a date: write 2026-01-31 or 2026-01-31T00:00:00Z.`)
  const date = new Date(instant.seconds * 1000)
  const day = date.getTime()
  if (day < Date.parse(FIRST_DAY) || day >= Date.parse(LAST_DAY) + 86_400_000)
    throw new UsageError(`--billing-start ${start} is not between ${FIRST_DAY} and ${LAST_DAY}.`)
  return date
}

async function list(client: Client): Promise<void> {
  const keys = await listKeys(client)
  const date = (seconds: number | undefined) =>
    seconds === undefined ? '' : new Date(seconds * 1000).toISOString().slice(0, 10)
  printTable([
    ['ID', 'PLAN', 'NAME', 'CREATED', 'BILLING START', 'REVOKED'],
    ...keys.map((key) => [key.id, key.plan, key.name, date(key.created), date(key.billingStart), date(key.revoked)]),
  ])
}

function changed(wasChanged: boolean, how: string): void {
  if (!wasChanged)
    throw new UsageError(asTyped('There is no such key that is not revoked: `npm run keys -- list` shows them.'))
  print(`The key is ${how}. Running processes apply it within a second.`)
}

function planOf(name: string | undefined): PlanName {
  if (name !== undefined && isPlan(name)) return name
  throw new UsageError(
    `${name === undefined ? 'A plan is missing' : `${name} is no plan`}: there are ${Object.keys(PLANS).join(', ')}.`,
  )
}
