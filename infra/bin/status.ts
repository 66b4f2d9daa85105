/** `npm run status`: how far each network is read, stored and audited, and the gaps. */
import { asTyped } from '../../ingest/lib/as-typed.ts'
import { blocksIn, type JobStatus, type NetworkSummary, networksOf, summarize } from '../jobs/network-status.ts'
import { print, printTable, runCommand } from '../process/command.ts'
import { commandLine, type Help, optionsOf } from '../process/help.ts'

const SHOWN_GAPS = 3
/** So long without a comparison is said. */
const COMPARED_SECONDS = 3_600
/** A longer one is cut. */
const MAX_REASON_LENGTH = 100

const HELP: Help = {
  does: 'Shows how far each network is read, stored and audited, what is missing in between, and the jobs.',
  usage: ['npm run status [-- --json]'],
  options: [['--json', 'all of it, for programs']],
  examples: ['npm run -s status -- --json'],
}

const { json } = commandLine(HELP, () => optionsOf(HELP, { json: { type: 'boolean', default: false } }))
await runCommand(async (store, config) => {
  const now = Math.floor(Date.now() / 1000)
  const networks = await networksOf(store, config)
  const statuses = await Promise.all(networks.map((network) => summarize(store, config, network, now)))
  if (json) return print(JSON.stringify(statuses, undefined, 2))
  if (config.chain.kind === 'devnet') print('These are the tables of the devnet that stands in for ethereum.', '')
  if (statuses.length === 0) return print('Nothing is stored yet.')
  const header = ['NETWORK', 'HEAD', 'STORED TIP', 'TIP TIME', 'LAG', 'FIRST BLOCK', 'GAPS', 'MISMATCHES', 'AUDITED TO']
  printTable([header, ...statuses.map(rowOf)])
  for (const status of statuses) {
    const notes = [
      notesOfHalts,
      noteOfNothing,
      notesOfGaps,
      noteOfVoices,
      notesOfAudit,
      notesOfVerification,
      noteOfBudget,
    ].flatMap((of) => of(status))
    if (notes.length > 0) print('', ...notes)
  }
  const jobs = statuses.flatMap(({ network, jobs }) => jobs.map((job) => rowOfJob(network, job)))
  if (jobs.length === 0) return
  print('')
  printTable([['JOB', 'NETWORK', 'KIND', 'RANGE', 'STATE', 'PROGRESS'], ...jobs])
})

function rowOf({ network, head, tip, lag, first, gaps, audit }: NetworkSummary): string[] {
  return [
    network,
    textOf(head),
    textOf(tip?.number),
    tip ? timeOf(tip.time) : '-',
    lag ? [`${lag.seconds} s`, ...(lag.blocks === undefined ? [] : [counted(lag.blocks, 'block')])].join(', ') : '-',
    textOf(first),
    first === undefined ? '-' : gaps.length === 0 ? 'none' : String(gaps.length),
    textOf(audit?.mismatched),
    textOf(audit?.upTo),
  ]
}

function rowOfJob(network: string, { id, kind, from, to, state, share, reason }: JobStatus): string[] {
  const range = kind === 'rebuild' ? rangeOfTime(from, to) : `${from} to ${to}`
  const [line = ''] = reason.split('\n')
  const text = line.length > MAX_REASON_LENGTH ? `${line.slice(0, MAX_REASON_LENGTH)}…` : line
  const percent = share === undefined ? [] : [`${(share * 100).toFixed(1)} %`]
  const isKnown = share !== undefined && !text.startsWith('about ')
  const progress = state === 'done' ? [] : [...percent, ...(isKnown ? [] : [text])]
  return [String(id), network, kind, range, state, progress.join(', ')]
}

function rangeOfTime(from: number, to: number): string {
  return from === 0 && to === 2 ** 32 - 1 ? 'all' : `${timeOf(from)} to ${timeOf(to)}`
}

function notesOfHalts({ network, halts }: NetworkSummary): string[] {
  return halts.map(
    ({ stage, since, reason }) => `${network}: its ${stage} has halted since ${timeOf(since)}: ${reason}`,
  )
}

function noteOfNothing({ network, tip, first }: NetworkSummary): string[] {
  if (first === undefined) return [`Nothing is stored yet of ${network}.`]
  return tip ? [] : [`No listener has stored anything of ${network} yet: its blocks come from backfills.`]
}

function notesOfGaps({ network, gaps }: NetworkSummary): string[] {
  const [gap] = gaps
  if (!gap) return []
  const more = gaps.length - SHOWN_GAPS
  return [
    `${network}: no data for ${counted(blocksIn(gaps), 'block')} in ${counted(gaps.length, 'gap')}:`,
    ...gaps.slice(0, SHOWN_GAPS).map((it) => {
      const times = `between ${timeOf(it.fromTime)} and ${timeOf(it.toTime)}`
      return `  ${it.from} to ${it.to}  ${counted(blocksIn([it]), 'block')}, ${times}`
    }),
    ...(more > 0 ? [`  and ${more} more`] : []),
    asTyped(
      `Fill the first with: npm run backfill -- --network ${network} --from-block ${gap.from} --to-block ${gap.to}`,
    ),
  ]
}

/** Where nothing is compared with another endpoint. */
function noteOfVoices({ network, voices, first, audit }: NetworkSummary): string[] {
  if (voices === undefined || first === undefined) return []
  if (voices === 1)
    return [
      `${network}: one endpoint tells all of it: its headers and a share of its blocks are proven, nothing is compared. Name a second provider.`,
    ]
  const { comparedAt } = audit ?? {}
  if (comparedAt !== undefined && Date.now() / 1000 - comparedAt < COMPARED_SECONDS) return []
  const since = comparedAt === undefined ? 'yet' : `since ${timeOf(comparedAt)}`
  return [`${network}: nothing has been compared with another endpoint ${since}.`]
}

function notesOfAudit({ network, first, audit }: NetworkSummary): string[] {
  if (!audit) return first === undefined ? [] : [`${network}: nothing is audited yet.`]
  const { mismatched, omitted, invented, repriced, undecided, repairing } = audit
  if (mismatched + repriced + undecided + repairing === 0) return []
  return [
    `${network}: the audit found ${counted(mismatched, 'block')} for which two answers had different logs.`,
    `  repaired   ${counted(omitted, 'log')} added, ${counted(invented, 'log')} removed, ${counted(repriced, 'block')} repriced`,
    `  undecided  ${counted(undecided, 'block')}, which are asked for again`,
    ...(repairing > 0 ? [`  under way  ${counted(repairing, 'block')}`] : []),
  ]
}

function notesOfVerification({ network, verification }: NetworkSummary): string[] {
  if (!verification) return []
  const { phase, month, block, mismatches, passed, passedMismatches, newest } = verification
  const place =
    phase === 'candles'
      ? `candles of ${month === 0 ? 'the oldest month' : timeOf(month).slice(0, 7)}`
      : `${phase} from block ${block}`
  const last = passed === undefined ? 'no pass has ended yet' : `the last pass ended at ${timeOf(passed)}`
  const found = mismatches + passedMismatches
  return [
    `${network}: the permanent verification is at ${place}; ${last}.`,
    ...(found > 0 ? [`  mismatches  ${passedMismatches} in the last pass, ${mismatches} in this one`] : []),
    ...(newest === undefined ? [] : [`  newest      ${newest}`]),
  ]
}

function noteOfBudget({ network, budget }: NetworkSummary): string[] {
  if (!budget) return []
  const { perSecond, perDay, used = 0 } = budget
  const count = (requests: number) => requests.toLocaleString('en')
  const parts = [
    ...(perDay === undefined ? [] : [`${count(used)} of ${count(perDay)} requests of this UTC day are used`]),
    ...(perSecond === undefined ? [] : [`at most ${count(perSecond)} a second`]),
  ]
  return [`${network}: request budget: ${parts.join(', ')}.`]
}

function textOf(number: number | undefined): string {
  return number === undefined ? '-' : String(number)
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000', '')
}
