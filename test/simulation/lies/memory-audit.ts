/** The audit over tables in memory: final blocks are read again from each voice by the code of ingest, and differences are decided by proof. */
import { firstChoice, readFromEach, reportFalseAnswers, withProven } from '../../../ingest/audit/audit.ts'
import { type ProvenBlock, proveBlock } from '../../../ingest/audit/audit-proof.ts'
import { createAssembler } from '../../../ingest/blocks/assemble.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import type { BlockContent } from '../../../ingest/model/message.ts'
import type { Endpoints } from '../../../ingest/rpc/endpoints/endpoints.ts'
import { NETWORK, REFERENCE_POOL } from '../market.ts'
import type { MemoryStore } from '../memory-store.ts'
import type { Random } from '../random.ts'

/** Chains are short here. */
const PROOF_SHARE = 0.1

type AuditSetting = { from: number; random: Random; report: (fact: IngestFact) => void; signal: AbortSignal }

/** Dollars count from the first swap of the reference pool on. Returns the blocks that nothing proves; all others of final history, up to the returned block, are as proven from now on. */
export async function auditInMemory(
  endpoints: Endpoints,
  store: MemoryStore,
  { from, random, report, signal }: AuditSetting,
): Promise<{ to: number; undecided: readonly number[] }> {
  const { first, finalized } = await firstChoice(endpoints, 30_000)
  const to = Math.min(finalized, store.finalized)
  // A voice that names an old block as final prevents the audit, not for good.
  if (to < from) return { to, undecided: [] }
  const assembler = createAssembler(endpoints, NETWORK, undefined, () => undefined)
  const { filter } = assembler
  const readings = await readFromEach(endpoints, filter, { from, to, first, signal })
  const stored = textsOf(store.final.contents.filter(({ number }) => number >= from && number <= to))
  const differing = new Set<number>()
  for (const reading of readings) {
    assembler.rollBack(from - 1)
    const answered = textsOf(await assembler.assemble(reading.logs, reading.headers))
    for (const number of new Set([...answered.keys(), ...stored.keys()]))
      if (answered.get(number) !== stored.get(number)) differing.add(number)
  }
  const proven = new Map<number, ProvenBlock>()
  const undecided: number[] = []
  const drawn = [...stored.keys()].filter(() => random.chance(PROOF_SHARE))
  for (const number of [...new Set([...differing, ...drawn])].sort((a, b) => a - b)) {
    const block = await proveBlock(endpoints, filter, number)
    if (block) proven.set(number, block)
    else if (differing.has(number)) undecided.push(number)
  }
  reportFalseAnswers(endpoints, { network: NETWORK.name, readings, proven, report })
  const truth = withProven(readings[0], proven)
  assembler.rollBack(from - 1)
  let isPriced = false
  for (const block of await assembler.assemble(truth.logs, truth.headers)) {
    const dollars = (content: BlockContent) => content.ticks.map(({ amountUsdMicros }) => amountUsdMicros).join()
    const before = store.final.contents.find(({ number, ticks }) => number === block.number && ticks.length > 0)
    const isRepriced = isPriced && before && dollars(before) !== dollars(block)
    isPriced ||= block.ticks.some(({ pool }) => pool === REFERENCE_POOL)
    if (proven.has(block.number) || isRepriced) store.overwrite(block)
  }
  return { to, undecided }
}

/** Without dollars, which follow from earlier blocks. */
function textsOf(contents: readonly BlockContent[]): ReadonlyMap<number, string> {
  const traded = contents.filter(({ ticks, liquidity }) => ticks.length + liquidity.length > 0)
  return new Map(
    traded.map(({ number, timestamp, ticks, liquidity }) => {
      const rows = [timestamp, ...ticks.map((tick) => ({ ...tick, amountUsdMicros: 0n })), ...liquidity]
      return [number, JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))]
    }),
  )
}
