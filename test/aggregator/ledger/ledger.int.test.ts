import type { Hash } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Message } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { arrayLog } from '../../support/array-log.ts'
import { asBlocks, asRange, type Chain, FIRST_BLOCK, fullBlocks, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { networkOf, startAggregator } from '../running.ts'
import { type Tables, tablesOf } from '../tables.ts'

/** Blocks 100 to 107 of one chain, and forks of it: `a` from 103 on, `b` too with one block less, `c` from 104 on. */
const PLANS = fullBlocks(20, 4)
const TRUNK = mine([], PLANS.slice(0, 3))
const A = mine(TRUNK, PLANS.slice(3, 8), 'a')
/** As a listener tells `A` that has named its pools before. */
const UNNAMED = A.map((block) => ({ ...block, pools: [] }))
const B = mine(TRUNK, PLANS.slice(8, 12), 'b')
const C = mine(A.slice(0, 4), PLANS.slice(12, 16), 'c')
const EMPTY = { secondsLater: 12, ticks: [], pools: [], liquidity: [], balances: [] }

describe.skipIf(withoutClickHouse).concurrent('the ledger', () => {
  let database: TestDatabase
  let networks = 0
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  const another = () => networkOf(`network ${++networks}`)
  const tablesNow = async (network: NetworkName): Promise<Tables> => (await tablesOf(database.client))(network)

  /** Stored rows and reported facts after these appends. */
  async function told(appends: readonly ((network: NetworkName) => readonly Message[])[]) {
    const network = another()
    const aggregator = await startAggregator(database.client, { network })
    for (const append of appends) await aggregator.append(append(network))
    expect(await aggregator.stop()).toBeUndefined()
    return { tables: await tablesNow(network), facts: aggregator.facts.map(withoutTimes) }
  }
  const blocks = (chain: Chain) => (network: NetworkName) => asBlocks(network, chain)
  const range = (chain: Chain) => (network: NetworkName) => [asRange(network, chain)]
  const cleanRuns = new Map<Hash | undefined, Promise<Tables>>()
  /** Rows that a run leaves that never saw another block. */
  function cleanRun(chain: Chain): Promise<Tables> {
    const tip = chain.at(-1)?.hash
    const tables = cleanRuns.get(tip) ?? told([blocks(chain)]).then((run) => run.tables)
    cleanRuns.set(tip, tables)
    return tables
  }

  test('a replay of what is stored changes nothing', async () => {
    const network = another()
    const aggregator = await startAggregator(database.client, { network })
    const messages = [asRange(network, TRUNK), ...asBlocks(network, A.slice(3))]
    await aggregator.append(messages)
    const before = await tablesNow(network)
    aggregator.facts.length = 0
    for (const message of messages) await aggregator.append([message])
    await aggregator.append(messages)
    await aggregator.append(messages.slice(2, 5))
    expect(aggregator.facts).toStrictEqual([])
    await aggregator.stop()
    expect(await tablesNow(network)).toStrictEqual(before)
  })

  test('a replay of a whole log, orphans too, ends with what it ended with before', async () => {
    const all = [blocks(A), blocks(B.slice(3)), blocks(C.slice(3))]
    const replayed = await told([...all, ...all])
    expect(replayed.tables).toStrictEqual(await cleanRun(C))
  })

  test('a log read again from its beginning by the next process changes nothing', async () => {
    const network = another()
    const log = arrayLog()
    const first = await startAggregator(database.client, { network, log })
    await first.append([...asBlocks(network, A), ...asBlocks(network, C.slice(4))])
    await first.stop()
    const before = await tablesNow(network)
    const second = await startAggregator(database.client, { network, log })
    await second.append(asBlocks(network, C))
    await second.stop()
    expect(second.facts.map(({ kind }) => kind)).toStrictEqual(['aggregator-started'])
    expect(await tablesNow(network)).toStrictEqual(before)
  })

  test('pools that one listener named before are stored from the other one, whatever it tells of blocks that are stored', async () => {
    const named = (chain: Chain) => chain.flatMap(({ pools }) => pools).length
    for (const part of [A.slice(0, 3), A.slice(0, 5), A]) expect(named(part)).toBeGreaterThan(0)
    const { pools } = await cleanRun(A)
    const same = await told([blocks(UNNAMED), blocks(A)])
    expect(same.tables).toStrictEqual(await cleanRun(A))
    const longer = await told([blocks(UNNAMED.slice(0, 5)), range(A)])
    expect(longer.tables.pools).toStrictEqual(pools)
    const below = await told([range(A.slice(3)), range(A.slice(0, 3))])
    expect(below.tables.pools).toStrictEqual(pools)
    const forked = await told([blocks(UNNAMED), blocks(A), blocks(B.slice(3))])
    expect(forked.tables).toStrictEqual(await cleanRun(B))
  })

  test('pools that were named late are taken back by a process that starts again', async () => {
    const network = another()
    for (const appends of [[UNNAMED, A], [B.slice(3)]]) {
      const aggregator = await startAggregator(database.client, { network })
      for (const chain of appends) await aggregator.append(asBlocks(network, chain))
      await aggregator.stop()
    }
    expect(await tablesNow(network)).toStrictEqual(await cleanRun(B))
  })

  test('messages whose parent is unknown are skipped, the first of them is reported, and reading continues until one connects', async () => {
    const [, , , , gap, ...beyond] = A
    if (!gap) throw new Error('unreachable')
    const { tables, facts } = await told([
      blocks(A.slice(0, 4)),
      blocks(beyond),
      blocks(beyond),
      blocks([gap]),
      blocks(beyond),
    ])
    expect(facts).toMatchObject([
      { kind: 'aggregator-started', tip: undefined },
      { kind: 'begins-late', first: FIRST_BLOCK },
      { kind: 'flushed', from: FIRST_BLOCK, to: 103, blocks: 4 },
      { kind: 'stalled', number: 105, tip: 103 },
      { kind: 'connected', number: 104 },
      { kind: 'flushed', from: 104, to: 104, blocks: 1 },
      { kind: 'flushed', from: 105, to: 107, blocks: 3 },
    ])
    expect(tables).toStrictEqual(await cleanRun(A))
  })

  test('a fork from a block that is unknown is skipped, and stored once its parents are told', async () => {
    const { tables, facts } = await told([blocks(A), blocks(B.slice(5)), blocks(B.slice(3))])
    expect(facts.map(({ kind }) => kind)).toStrictEqual([
      'aggregator-started',
      'begins-late',
      'flushed',
      'stalled',
      'connected',
      'rolled-back',
      'flushed',
    ])
    expect(tables).toStrictEqual(await cleanRun(B))
  })

  test('a range whose parent was never read is stored where the ledger is empty, and skipped where it is not', async () => {
    const orphan = (network: NetworkName) => [{ ...asRange(network, A), parentHash: undefined }]
    const first = await told([orphan])
    expect(first.tables).toStrictEqual((await told([range(A)])).tables)
    const second = await told([blocks(B), orphan])
    expect(second.facts.at(-1)).toMatchObject({ kind: 'stalled', number: 107, tip: 106 })
    expect(second.tables).toStrictEqual(await cleanRun(B))
  })

  test('a shorter fork is believed at once, and grows', async () => {
    const short = await told([blocks(A), blocks(B.slice(3, 4))])
    expect(short.facts.at(-2)).toMatchObject({ kind: 'rolled-back', to: 102, depth: 5, pools: 3 })
    expect(short.tables).toStrictEqual(await cleanRun(B.slice(0, 4)))
    const grown = await told([blocks(A), blocks(B.slice(3, 4)), blocks(B.slice(4))])
    expect(grown.tables).toStrictEqual(await cleanRun(B))
  })

  test('a chain that flips between branches ends as the last one says', async () => {
    const flips = [A.slice(3), B.slice(3), A.slice(3), C.slice(4), B.slice(3)].map(blocks)
    const singly = await told([blocks(TRUNK), ...flips, blocks(A.slice(3))])
    expect(singly.facts.filter(({ kind }) => kind === 'rolled-back')).toHaveLength(5)
    expect(singly.tables).toStrictEqual(await cleanRun(A))
    const atOnce = await told([(network) => [blocks(TRUNK), ...flips].flatMap((append) => append(network))])
    expect(atOnce.tables).toStrictEqual(await cleanRun(B))
  })

  test('a flip is undone in what merged parts say, too', async () => {
    const network = another()
    const aggregator = await startAggregator(database.client, { network })
    for (const chain of [A, B.slice(3), A.slice(3), B.slice(3)]) {
      await aggregator.append(asBlocks(network, chain))
      for (const table of ['blocks', 'ticks', 'candles', 'pools', 'liquidity_changes']) {
        await database.client.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
      }
    }
    await aggregator.stop()
    expect(await tablesNow(network)).toStrictEqual(await cleanRun(B))
  })

  test('a range replaces the orphans that it covers', async () => {
    const final = await told([blocks(TRUNK), range(C.slice(3))])
    const replaced = await told([blocks(A), range(B.slice(3)), blocks(A.slice(3)), range(C.slice(3))])
    expect(replaced.tables).toStrictEqual(final.tables)
  })

  test('a range over blocks that are stored already changes at most how the ledger was told', async () => {
    const { blocks: _, ...clean } = await cleanRun(A)
    for (const [from, to] of [
      [3, 6],
      [3, 8],
      [1, 8],
    ]) {
      const { tables } = await told([blocks(A.slice(0, 7)), range(A.slice(from, to)), blocks(A.slice(6))])
      const { blocks: ledger, ...rest } = tables
      expect(rest).toStrictEqual(clean)
      expect(ledger).toHaveLength(8)
    }
  })

  test('history that is read again, its ranges cut elsewhere, rolls nothing back', async () => {
    const quiet = mine(A, [EMPTY, ...PLANS.slice(16, 17), EMPTY, EMPTY])
    const all = range(quiet)
    const { blocks: _, ...clean } = (await told([all])).tables
    const cuts = [
      [2, 5, 12],
      [3, 4, 9, 12],
      [1, 6, 8, 9, 10, 11, 12],
      [10, 12],
    ]
    for (const ends of cuts) {
      const pieces = ends.map((end, index) => range(quiet.slice(ends[index - 1] ?? 0, end)))
      const unbegun = pieces.map(
        (piece, index) => (network: NetworkName) =>
          piece(network).map((message) => (index === 0 ? { ...message, parentHash: undefined } : message)),
      )
      for (const first of [[all], [range(quiet.slice(0, 4)), range(quiet.slice(4, 9))]]) {
        const { tables, facts } = await told([...first, ...unbegun, blocks(quiet.slice(5, 9)), ...pieces])
        const kinds = facts.map(({ kind }) => kind)
        expect(kinds).not.toContain('stalled')
        expect(kinds).not.toContain('rolled-back')
        const { blocks: ledger, ...rest } = tables
        expect(rest).toStrictEqual(clean)
        expect(ledger.length).toBeGreaterThan(0)
      }
    }
  })

  test('blocks continue a range, and can fall back to its last block', async () => {
    const empties = mine(TRUNK, [EMPTY, EMPTY, EMPTY])
    const on = mine(empties, PLANS.slice(3, 5), 'on')
    const instead = mine(empties, PLANS.slice(5, 6), 'instead')
    const clean = await told([range(empties), blocks(instead.slice(6))])
    const forked = await told([range(empties), blocks(on.slice(6)), blocks(instead.slice(6))])
    expect(forked.facts.at(-2)).toMatchObject({ kind: 'rolled-back', to: 105, depth: 2 })
    expect(forked.tables).toStrictEqual(clean.tables)
  })

  test('a block that a rollback took away is no parent, also where the range in its place has no logs there', async () => {
    const quiet = mine(TRUNK, [EMPTY, ...PLANS.slice(16, 19)], 'quiet')
    const before = await told([blocks(A), range(quiet.slice(3))])
    const after = await told([blocks(A), range(quiet.slice(3)), blocks(A.slice(4, 5))])
    expect(after.facts.map(({ kind }) => kind)).toContain('stalled')
    expect(after.tables.ticks).toStrictEqual(before.tables.ticks)
  })

  test('liquidity, pools and balances roll back as ticks do', async () => {
    const [full] = fullBlocks(1, 9)
    if (!full) throw new Error('unreachable')
    const orphaned = mine(TRUNK, [full], 'orphaned')
    const emptied = mine(TRUNK, [EMPTY], 'emptied')
    const { tables } = await told([blocks(orphaned), blocks(emptied.slice(3))])
    const before = await cleanRun(orphaned)
    const after = await cleanRun(TRUNK)
    for (const table of ['ticks', 'liquidity_changes', 'pools', 'pool_balances'] as const) {
      expect(before[table].length).toBeGreaterThan(after[table].length)
      expect(tables[table]).toStrictEqual(after[table])
    }
  })

  test('networks that share tables don’t touch each other', async () => {
    const [one, other] = [another(), another()]
    const [first, second] = await Promise.all([
      startAggregator(database.client, { network: one }),
      startAggregator(database.client, { network: other }),
    ])
    await Promise.all([first.append(asBlocks(one, A)), second.append(asBlocks(other, A))])
    await second.append(asBlocks(other, B.slice(3)))
    await Promise.all([first.stop(), second.stop()])
    expect(await tablesNow(one)).toStrictEqual(await cleanRun(A))
    expect(await tablesNow(other)).toStrictEqual(await cleanRun(B))
  })
})

function withoutTimes<Fact extends object>(fact: Fact): Omit<Fact, 'ms'> {
  return Object.fromEntries(Object.entries(fact).filter(([name]) => name !== 'ms')) as Omit<Fact, 'ms'>
}
