/** A comparison: stored logs of final blocks against the same logs read again from other nodes. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Client } from 'viem'
import {
  countFalse,
  type RangeLogs,
  readFromEach,
  reportFalseAnswers,
  withProven,
} from '../../../ingest/audit/audit.ts'
import { type ProvenBlock, proveBlock } from '../../../ingest/audit/audit-proof.ts'
import type { Assembler } from '../../../ingest/blocks/assemble.ts'
import type { BlockRange } from '../../../ingest/model/block-range.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import type { BlockContent, UnixSeconds } from '../../../ingest/model/message.ts'
import type { Network } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { Report } from '../../../ingest/model/report.ts'
import type { Endpoints } from '../../../ingest/rpc/endpoints/endpoints.ts'
import { getHeader } from '../../../ingest/rpc/rpc.ts'
import type { AuditCounts } from '../../ledger/fact.ts'
import { type BlockSums, countDifferences, isDifferent, NO_LOGS, storedSums, sumsOf } from './audit-sums.ts'
import { inFinalLedger } from './final-ledger.ts'

/** Passed from one range to the next. */
export type ComparisonContext = {
  network: Network
  pools: readonly PoolId[] | undefined
  assembler: Assembler
  /** Reference pools whose price may differ from the one that the stored dollars were computed with. */
  unverified: ReadonlySet<PoolId>
  report: Report<IngestFact>
}

export type RangeToCompare = BlockRange & {
  /** The endpoint whose answer was most likely stored. */
  first: Client
  /** Blocks found wrong before, whose repair may be incomplete: they are repaired again, and not counted again. */
  pending: ReadonlySet<number>
  /** Blocks without proof by receipts so far: two answers that agree now prove nothing. */
  undecided: readonly number[]
  /** Blocks of the ledger, which may be behind the chain; else a job has stored them as final. */
  isOfLedger: boolean
  /** The share of blocks with logs that are proven though no answer differs, 0 to 1. */
  proofShare: number
  signal: AbortSignal
}

export type Comparison = Omit<AuditCounts, 'undecided'> & {
  /** Proven content of blocks that are stored otherwise, in runs between which nothing was traded. */
  wrong: BlockContent[][]
  /** Blocks that no node's receipts prove. */
  undecided: number[]
  /** Times of the undecided blocks. */
  undecidedTimes: ReadonlyMap<number, UnixSeconds>
  /** Two voices have answered. */
  isCompared: boolean
  unverified: ReadonlySet<PoolId>
  /** A block was stored otherwise than its proof, though the reading agreed: its endpoint lies as the source did, or is the source. */
  isDeceived: boolean
}

/** May be retried after a failure. Call it in the order of the chain: prices carry over. */
export async function compare(
  client: ClickHouseClient,
  endpoints: Endpoints,
  comparer: ComparisonContext,
  range: RangeToCompare,
): Promise<Comparison> {
  const { network, pools, assembler } = comparer
  const { stored, contents, undecided, ...truth } = await readTruth(client, endpoints, comparer, range)
  const unverified = new Set(comparer.unverified)
  const found = { wrong: [] as BlockContent[][], logs: 0, omitted: 0, invented: 0, repriced: 0 }
  let isRun = false
  for (const number of [...new Set([...contents.keys(), ...undecided])].sort((a, b) => a - b)) {
    const block = contents.get(number)
    const pending = range.pending.has(number)
    if (!block || undecided.includes(number)) {
      for (const { pool } of network.referencePools) unverified.add(pool)
      isRun = false
      continue
    }
    const now = sumsOf(block)
    const then = stored.get(number) ?? NO_LOGS
    const isOtherwise = isDifferent(now, then)
    const isRepriced = !isOtherwise && now.dollars !== then.dollars && unverified.size === 0
    for (const { pool } of block.ticks) unverified.delete(pool)
    const isWrong = isOtherwise || isRepriced || pending
    if (isWrong && !isRun) found.wrong.push([])
    if (isWrong) found.wrong.at(-1)?.push(block)
    isRun = isWrong
    found.logs += now.logs
    if (isRepriced && !pending) found.repriced += 1
    if (!isOtherwise || pending) continue
    const { omitted, invented } = await countDifferences(client, { network: network.name, pools }, block)
    found.omitted += omitted
    found.invented += invented
  }
  assembler.usd.finalize(range.to)
  return { ...found, ...truth, undecided, unverified }
}

/** An endpoint that left out logs of this many blocks may have none at all: the whole range is read from another one. */
const MAX_LACKING = 20

/** `mismatched`: the number of blocks with stored logs that differ from an answer or from their proof. */
type Truth = {
  stored: ReadonlyMap<number, BlockSums>
  contents: ReadonlyMap<number, BlockContent>
  mismatched: number
  undecided: number[]
  undecidedTimes: ReadonlyMap<number, UnixSeconds>
  isCompared: boolean
  isDeceived: boolean
}

/** Reads the blocks from several voices. If an answer differs from the stored rows, receipts decide, not a majority. */
async function readTruth(
  client: ClickHouseClient,
  endpoints: Endpoints,
  comparer: ComparisonContext,
  range: RangeToCompare,
  isLast = false,
): Promise<Truth> {
  const { network, pools, assembler, report } = comparer
  const { from, to, first, pending, signal } = range
  const { filter } = assembler
  const before = Math.max(0, from - 1)
  const readings = await readFromEach(endpoints, filter, { from, to, first, signal })
  const [reading, ...others] = readings
  // An earlier attempt may have observed prices of these blocks.
  const otherSums: ReadonlyMap<number, BlockSums>[] = []
  for (const other of others) otherSums.push((await assembled(assembler, before, other)).sums)
  const { blocks, sums: answered } = await assembled(assembler, before, reading)
  let contents = blocks
  const readStored = () => storedSums(client, { network: network.name, pools, ...range })
  let stored = await readStored()
  const differingNow = () => [...new Set([answered, ...otherSums].flatMap((sums) => differingBlocks(sums, stored)))]
  let differing = differingNow()
  if (differing.length > 0 && range.isOfLedger) {
    // The rows may have belonged to a branch that the writer has removed meanwhile.
    stored = await inFinalLedger(client, endpoints, network, to, readStored)
    differing = differingNow()
  }
  const proven = new Map<number, ProvenBlock>()
  const undecided: number[] = []
  const open = [...pending, ...range.undecided].filter((number) => from <= number && number <= to)
  const inDoubt = new Set([...differing, ...open])
  const drawn = [...new Set([...answered.keys(), ...stored.keys()])].filter(() => Math.random() < range.proofShare)
  for (const number of new Set([...inDoubt, ...drawn])) {
    const block = await proveBlock(endpoints, filter, number)
    if (block) proven.set(number, block)
    else if (inDoubt.has(number)) undecided.push(number)
    const source = reading.parts[0]?.client
    if (isLast || !source || countFalse(reading, proven) < MAX_LACKING) continue
    reportFalseAnswers(endpoints, { network: network.name, readings, proven, report })
    return readTruth(client, endpoints, comparer, { ...range, first: source }, true)
  }
  if (proven.size > 0) {
    reportFalseAnswers(endpoints, { network: network.name, readings, proven, report })
    const truth = withProven(reading, proven)
    assembler.rollBack(before)
    contents = await assembler.assemble(truth.logs, truth.headers)
  }
  const byNumber = new Map(contents.map((block) => [block.number, block]))
  const isFalse = (number: number) =>
    isDifferent(sumsOf(byNumber.get(number) ?? NO_CONTENT), stored.get(number) ?? NO_LOGS)
  const deceived = [...proven.keys()].filter((number) => !inDoubt.has(number) && isFalse(number))
  // The other blocks of the range may be as false.
  if (deceived.length > 0 && range.proofShare < 1) {
    return readTruth(client, endpoints, comparer, { ...range, proofShare: 1 }, isLast)
  }
  return {
    stored,
    contents: byNumber,
    mismatched: differing.length + deceived.length,
    undecided,
    undecidedTimes: await timesOf(endpoints, undecided, readings),
    isCompared: others.length > 0,
    isDeceived: deceived.length > 0,
  }
}

/** From the headers of the readings, else from an endpoint; a block without an answer is left out. */
async function timesOf(
  endpoints: Endpoints,
  blocks: readonly number[],
  readings: readonly RangeLogs[],
): Promise<ReadonlyMap<number, UnixSeconds>> {
  const known = new Map(readings.flatMap(({ headers }) => headers.map((it) => [it.number, it.timestamp] as const)))
  const times = new Map<number, UnixSeconds>()
  for (const number of blocks) {
    const header = known.has(number) ? undefined : endpoints.run((client) => getHeader(client, number))
    const time = known.get(number) ?? (await header?.catch(() => undefined))?.timestamp
    if (time !== undefined) times.set(number, time)
  }
  return times
}

async function assembled(assembler: Assembler, before: number, { logs, headers }: RangeLogs) {
  assembler.rollBack(before)
  const blocks = await assembler.assemble(logs, headers)
  return { blocks, sums: new Map(blocks.map((block) => [block.number, sumsOf(block)])) }
}

const NO_CONTENT = { timestamp: 0, ticks: [], liquidity: [] }

function differingBlocks(answered: ReadonlyMap<number, BlockSums>, stored: ReadonlyMap<number, BlockSums>): number[] {
  const sumsIn = (sums: ReadonlyMap<number, BlockSums>, number: number) => sums.get(number) ?? NO_LOGS
  return [...new Set([...answered.keys(), ...stored.keys()])].filter((number) =>
    isDifferent(sumsIn(answered, number), sumsIn(stored, number)),
  )
}
