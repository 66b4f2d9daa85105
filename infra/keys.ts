/** `npm run keys -- create|list|revoke|set-plan`: who may ask, and how much. */
import { parseArgs } from 'node:util'
import { createKey, listKeys, revokeKey, setPlan } from '../api/keys.ts'
import { isPlan, PLANS, type PlanName } from '../api/plan.ts'
import { parseTime } from '../api/time.ts'
import { print, printTable, runCommand, UsageError } from './command.ts'

const USAGE = `Usage:
  npm run keys -- create --plan ${Object.keys(PLANS).join('|')} [--name NAME] [--billing-start DATE]
  npm run keys -- list
  npm run keys -- revoke ID
  npm run keys -- set-plan ID PLAN

A key is shown once, when it is made: the tables keep only its hash. ID is the handle that \`list\` shows.`

/** Longer ones, and control characters, would make the list unreadable. */
const NAME = /^[^\p{Cc}\u2028\u2029]{0,100}$/u

/** What a DateTime of the tables holds, in whole years. */
const FIRST_DAY = '1970-01-01'
const LAST_DAY = '2099-12-31'

await runCommand(async ({ owner: client }) => {
  const [verb, ...rest] = process.argv.slice(2)
  if (verb === 'create') return create(client, rest)
  if (verb === 'list') return list(client)
  if (verb === 'revoke' && rest.length === 1) return changed(await revokeKey({ client, id: rest[0] ?? '' }), 'revoked')
  if (verb === 'set-plan' && rest.length === 2) {
    const plan = planOf(rest[1])
    return changed(await setPlan({ client, id: rest[0] ?? '', plan }), `on the plan ${plan}`)
  }
  throw new UsageError(USAGE)
})

type Client = Parameters<typeof listKeys>[0]

async function create(client: Client, args: string[]): Promise<void> {
  const options = { plan: { type: 'string' }, name: { type: 'string' }, 'billing-start': { type: 'string' } } as const
  const { values } = readArgs(() => parseArgs({ args, options, allowPositionals: false }))
  const plan = planOf(values.plan)
  const { name = '', 'billing-start': start } = values
  if (!NAME.test(name)) throw new UsageError('--name is not one line of at most 100 characters.')
  const key = await createKey({ client, plan, name, billingStart: start === undefined ? undefined : dayOf(start) })
  print(`A key on the plan ${plan}. It is shown only now:`, '', key)
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
  if (!wasChanged) throw new UsageError('There is no such key that is not revoked: `npm run keys -- list` shows them.')
  print(`The key is ${how}. Running processes know it within a second.`)
}

function planOf(name: string | undefined): PlanName {
  if (name !== undefined && isPlan(name)) return name
  throw new UsageError(
    `${name === undefined ? 'A plan is missing' : `${name} is no plan`}: there are ${Object.keys(PLANS).join(', ')}.`,
  )
}

function readArgs<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${USAGE}`)
  }
}
