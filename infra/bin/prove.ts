/** `npm run prove`: the proof of one tick as JSON, and the check of such a proof without the chain. */
import { readFile } from 'node:fs/promises'
import type { Hash } from 'viem'
import { NoProof, proveTick, type TickId } from '../../ingest/audit/tick-proof.ts'
import { NETWORK_NAMES, type NetworkName } from '../../ingest/model/network.ts'
import { configuredNetwork } from '../config/networks.ts'
import { checkProof } from '../lib/check-proof.ts'
import { inOneLine, printLine } from '../lib/output.ts'
import { UsageError } from '../lib/usage-error.ts'
import { print } from '../process/command.ts'
import { commandLine, type Help, networkOf, optionsOf, usageOf } from '../process/help.ts'
import { type Run, runProcess } from '../process/run.ts'
import { connectChain } from '../rpc/chain-client.ts'

const HELP: Help = {
  does: 'Prints what proves a tick: the header of its block, its receipt, and the path of the trie between them. Checks such a proof.',
  usage: ['npm run prove -- --network NAME --tick ID', 'npm run prove -- --check FILE'],
  options: [
    ['--network NAME', NETWORK_NAMES.join(', ')],
    ['--tick ID', 'the `id` of a tick, as `/v0/ticks` answers it'],
    ['--check FILE', 'checks a proof without the chain; `-` is the standard input'],
  ],
  examples: [
    'npm run -s prove -- --network ethereum --tick 0x…-169 > tick.json',
    'npm run -s prove -- --check tick.json',
  ],
}

const TICK = /^(0x[0-9a-f]{64})-(\d{1,10})$/

type ProveRequest = { check: string } | { network: NetworkName; tick: TickId }

const request = commandLine(HELP, readRequest)
if ('check' in request) await check(request.check)
else await runProcess((run) => prove(request, run))

async function prove(
  { network: name, tick }: Exclude<ProveRequest, { check: string }>,
  { config, report, signal }: Run,
) {
  const configured = configuredNetwork(config, name)
  if (!configured) {
    const variable = `${name.toUpperCase()}_RPC_URL`
    throw new UsageError(
      `${name} is not configured: set ${variable}. (Only its process reaches the chain of a devnet.)`,
    )
  }
  const { network, urls, access, headerProof } = configured
  const { endpoints } = connectChain(urls, { network, access, headerProof, report, signal })
  try {
    print(JSON.stringify(await proveTick(endpoints, network, tick), undefined, 2))
  } catch (error) {
    throw error instanceof NoProof ? new UsageError(error.message) : error
  }
}

async function check(file: string): Promise<void> {
  try {
    const text = await readFile(file === '-' ? '/dev/stdin' : file, 'utf8')
    print(JSON.stringify(checkProof(text), undefined, 2))
    printLine('Proven, if the chain has a block of this hash: compare it with an explorer.', process.stderr)
  } catch (error) {
    printLine(inOneLine(`Not proven: ${(error as Error).message}`), process.stderr)
    process.exitCode = 1
  }
}

function readRequest(): ProveRequest {
  const text = { type: 'string' } as const
  const { network, tick = '', check } = optionsOf(HELP, { network: text, tick: text, check: text })
  if (check !== undefined) {
    if (network === undefined && tick === '') return { check }
    throw new UsageError(`--check needs no other option.\n${usageOf(HELP)}`)
  }
  const [, transaction, logIndex] = TICK.exec(tick.toLowerCase()) ?? []
  if (transaction === undefined)
    throw new UsageError(
      `--tick is not the id of a tick: a transaction and the index of a log, 0x…-169\n${usageOf(HELP)}`,
    )
  return { network: networkOf(HELP, network), tick: { transaction: transaction as Hash, logIndex: Number(logIndex) } }
}
