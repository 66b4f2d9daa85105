/** A mismatch as an operator reads it: its values, its place, and the command that repairs it. */
import { asTyped } from '../../../ingest/lib/as-typed.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { AggregatorFact } from '../../ledger/fact.ts'
import type { Difference } from './differences.ts'

export type MismatchFact = Extract<AggregatorFact, { kind: 'verify-mismatch' }>

const FACTS = [
  ...['open', 'high', 'low', 'close', 'spot open', 'spot high', 'spot low', 'spot close'],
  ...['volume0', 'volume1', 'dollars', 'trades', 'buys', 'bought volume0', 'bought volume1', 'unexecuted'],
]

export function mismatchFact(network: NetworkName, one: Difference): MismatchFact {
  const kind = 'verify-mismatch'
  if (one.kind === 'candle') {
    const { pool, resolution, start } = one
    const time = new Date(start * 1000).toISOString().replace('.000', '')
    return {
      ...{ kind, network, what: 'candle', where: `the candle of ${pool}, ${resolution} s, from ${time} on` },
      ...{ stored: factsOf(one.stored), counted: factsOf(one.counted) },
      command: asTyped(`npm run rebuild -- --network ${network} --pool ${pool} --from ${time} --to ${time}`),
    }
  }
  const { from, to } = one.kind === 'block' ? { from: one.number, to: one.number } : one
  return {
    ...{ kind, network, what: one.kind, where: from === to ? `block ${from}` : `blocks ${from} to ${to}` },
    stored: one.stored ? `${one.stored.ticks} ticks, digest ${one.stored.digest}` : 'not on the ledger',
    counted: `${one.counted.ticks} ticks, digest ${one.counted.digest}`,
    command: asTyped(`npm run backfill -- --network ${network} --from-block ${from} --to-block ${to} --again`),
  }
}

/** One line. */
export function describeMismatch({ network, where, stored, counted, command }: MismatchFact): string {
  return `${network}: ${where}: stored ${stored}; the ticks say ${counted}. Repair: ${command}`
}

function factsOf(facts: readonly string[] | undefined): string {
  return facts?.map((fact, index) => `${FACTS[index]} ${fact}`).join(', ') ?? 'none'
}
