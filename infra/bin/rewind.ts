/** `npm run rewind`: takes back all blocks of a network above one, final ones too, because the chain itself was replaced. */
import { createInterface } from 'node:readline/promises'
import { NETWORK_NAMES } from '../../ingest/model/network.ts'
import { type RewindPlan, type RewindRequest, rewindNetwork } from '../jobs/rewind-job.ts'
import { UsageError } from '../lib/usage-error.ts'
import { print } from '../process/command.ts'
import { commandLine, type Help, optionsOf, usageOf } from '../process/help.ts'
import { runProcess } from '../process/run.ts'

const HELP: Help = {
  does: 'Deletes all blocks of a network above one, final ones too, because the chain itself was replaced.',
  usage: ['npm run rewind -- --network NAME --to BLOCK [--yes]'],
  options: [
    ['--network NAME', NETWORK_NAMES.join(', ')],
    ['--to BLOCK', 'a stored block that the chain still has: it becomes the tip'],
    ['--yes', 'does not ask before it deletes'],
  ],
  examples: ['npm run rewind -- --network ethereum --to 18944000'],
}

const { isSure, ...request } = commandLine(HELP, readRequest)
await runProcess(async (run) => {
  const { network, to } = await rewindNetwork(request, run, (plan) => confirm(plan, request, isSure))
  if (!run.signal.aborted) print(`Block ${to.number} is the tip of ${network} now. Its listener resumes from there.`)
})

async function confirm({ network, to, tip }: RewindPlan, request: RewindRequest, isSure: boolean): Promise<void> {
  const why = to.number < request.to ? `, the end of the range of history below ${request.to}` : ''
  print(`This deletes blocks ${to.number + 1} to ${tip.number} of ${network}, and all that was traded in them.`)
  print(`It goes back to block ${to.number} (${to.hash})${why}.`)
  if (isSure) return
  if (!process.stdin.isTTY)
    throw new UsageError('Nothing was changed: there is no terminal to ask at. Repeat it with --yes.')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question(`Type ${network} to continue: `)
  terminal.close()
  if (answer.trim() !== network) throw new UsageError('Nothing was changed.')
}

function readRequest(): RewindRequest & { isSure: boolean } {
  const options = { network: { type: 'string' }, to: { type: 'string' }, yes: { type: 'boolean' } } as const
  const { network: name, to = '', yes: isSure = false } = optionsOf(HELP, options)
  const network = NETWORK_NAMES.find((it) => it === name)
  const problems = [
    ...(network ? [] : [`--network is none of ${NETWORK_NAMES.join(', ')}`]),
    ...(/^\d{1,12}$/.test(to) ? [] : ['--to is not a block number']),
  ]
  if (!network || problems.length > 0) throw new UsageError([...problems, usageOf(HELP)].join('\n'))
  return { network, to: Number(to), isSure }
}
