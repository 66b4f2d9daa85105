/** The ledger: which blocks are on the chain, as far as they are stored. The table `blocks` is its memory, and the only checkpoint. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Hash } from 'viem'
import type { BlockRef, Message, UnixSeconds } from '../ingest/message.ts'
import { blocksOf, tipOf } from '../ingest/message.ts'
import type { NetworkName } from '../ingest/network.ts'
import type { StoredChain, StoredTip } from '../ingest/stored-chain.ts'
import { ask } from './store.ts'

/** What a message is to the ledger. */
export type Placement =
  | { kind: 'known' }
  | { kind: 'append' }
  | { kind: 'rollback'; to: LedgerBlock }
  | { kind: 'unconnected' }

export type LedgerBlock = BlockRef & { timestamp: number }

/** Which blocks somebody believes to be on the chain: the newest one, and those below it by their numbers. */
export type KnownChain = {
  readonly tip: LedgerBlock | undefined
  at(number: number): Promise<LedgerBlock | undefined>
}

/** Where the message belongs, by its parent hash alone. */
export async function place(known: KnownChain, message: Message): Promise<Placement> {
  const newest = tipOf(message)
  const { tip } = known
  if (!tip) return { kind: 'append' }
  if ((await known.at(newest.number))?.hash === newest.hash) return { kind: 'known' }
  const first = message.kind === 'range' ? message.from : message.number
  if (message.parentHash === undefined) return { kind: 'unconnected' }
  if (tip.number === first - 1 && tip.hash === message.parentHash) return { kind: 'append' }
  const parent = await known.at(first - 1)
  if (parent && parent.hash === message.parentHash) return { kind: 'rollback', to: parent }
  return { kind: 'unconnected' }
}

/** So many blocks are looked up in memory; older ones are asked for. */
const BLOCKS_IN_MEMORY = 4_096

export class Ledger implements KnownChain {
  readonly #client: ClickHouseClient
  readonly #network: NetworkName
  readonly #recent = new Map<number, LedgerBlock>()
  #tip: LedgerBlock | undefined

  private constructor(client: ClickHouseClient, network: NetworkName) {
    this.#client = client
    this.#network = network
  }

  static async load(client: ClickHouseClient, network: NetworkName): Promise<Ledger> {
    const ledger = new Ledger(client, network)
    const newest = await readBlocks(client, network, Number.MAX_SAFE_INTEGER, BLOCKS_IN_MEMORY)
    for (const entry of newest.toReversed()) ledger.#add(entry)
    return ledger
  }

  get tip(): LedgerBlock | undefined {
    return this.#tip
  }

  place(message: Message): Promise<Placement> {
    return place(this, message)
  }

  append(message: Message): void {
    for (const { number, hash, timestamp } of blocksOf(message)) this.#add({ number, hash, timestamp })
    this.#add({ ...tipOf(message), timestamp: message.timestamp })
    for (const number of this.#recent.keys()) {
      if (this.#recent.size <= BLOCKS_IN_MEMORY) break
      this.#recent.delete(number)
    }
  }

  rollBack(to: LedgerBlock): void {
    for (const number of this.#recent.keys()) if (number > to.number) this.#recent.delete(number)
    this.#tip = to
  }

  #add(entry: LedgerBlock): void {
    this.#recent.set(entry.number, entry)
    this.#tip = entry
  }

  async at(number: number): Promise<LedgerBlock | undefined> {
    if (!this.#tip || number > this.#tip.number) return undefined
    const known = this.#recent.get(number)
    const [oldest] = this.#recent.keys()
    if (known || (oldest !== undefined && number >= oldest)) return known
    const [stored] = await readBlocks(this.#client, this.#network, number + 1, 1)
    return stored?.number === number ? stored : undefined
  }
}

/** Blocks on the ledger below `number`, newest first. */
async function readBlocks(
  client: ClickHouseClient,
  network: NetworkName,
  below: number,
  limit: number,
): Promise<(LedgerBlock & StoredTip)[]> {
  const rows = await ask<{ number: number; hash: string; timestamp: number; finalized: number }>(
    client,
    `SELECT toFloat64(number) AS number, lower(hex(hash)) AS hash, toUnixTimestamp(time) AS timestamp,
            toFloat64(finalized) AS finalized
     FROM blocks FINAL
     WHERE network = {network:String} AND blocks.number < {below:UInt64}
     ORDER BY blocks.number DESC
     LIMIT {limit:UInt32}`,
    { network, below, limit },
  )
  return rows.map((row) => ({ ...row, hash: `0x${row.hash}` as Hash }))
}

/** The ledger as a listener asks for it when it starts. */
export function storedChain(client: ClickHouseClient, network: NetworkName): StoredChain {
  return {
    async tip() {
      const [tip] = await readBlocks(client, network, Number.MAX_SAFE_INTEGER, 1)
      return tip
    },
    below: (number, limit) => readBlocks(client, network, number, limit),
  }
}

/** No stored tick is later: neither one of the tip or below it, nor one that a job has stated beyond it. */
export async function newestTick(
  client: ClickHouseClient,
  network: NetworkName,
  tip: LedgerBlock | undefined,
): Promise<UnixSeconds> {
  const [row] = await ask<{ newest: number }>(
    client,
    'SELECT toUnixTimestamp(max(time)) AS newest FROM ticks WHERE network = {network:String} AND block > {tip:Int64}',
    { network, tip: tip?.number ?? -1 },
  )
  return Math.max(tip?.timestamp ?? -1, row?.newest ?? -1)
}

/** Where the stored history begins; undefined where nothing is stored. */
export async function firstStoredBlock(client: ClickHouseClient, network: NetworkName): Promise<number | undefined> {
  // A range says where it began in its last row, so the oldest row alone does not tell.
  const [oldest] = await ask<{ begin: number; rows: string }>(
    client,
    `SELECT toFloat64(min(first)) AS begin, count() AS rows FROM blocks FINAL WHERE network = {network:String}`,
    { network },
  )
  return oldest && oldest.rows !== '0' ? oldest.begin : undefined
}
