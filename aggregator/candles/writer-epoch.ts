/** Writer epoch: a fencing token. Each aggregator that starts on a network writes candles of higher versions than all before it. */
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import { ask, insertRows } from '../store/store.ts'

/** Another process has become the network's writer, and will write the same blocks itself. */
export class EpochOver extends Error {
  override readonly name = 'EpochOver'
  readonly retryable = true
  constructor(network: NetworkName, epoch: bigint, options: ErrorOptions) {
    super(
      `The tables of ${network} have a later writer than epoch ${epoch} of this process. Read the position from the tables, and read the log again.`,
      options,
    )
  }
}

/** The statement fails once a later epoch is acquired. Parameters: `network` and `epoch`. Table `owners` has a row for each epoch. */
export const IS_NEWEST_EPOCH =
  'throwIf((SELECT max(epoch) FROM owners WHERE network = {network:String}) > {epoch:UInt64}) = 0'

/** Runs a statement that has this condition. Throws `EpochOver` where it does not hold. */
export async function inEpoch<T>(network: NetworkName, epoch: bigint, statement: () => Promise<T>): Promise<T> {
  try {
    return await statement()
  } catch (error) {
    const isOver = error instanceof ClickHouseError && error.type === 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'
    throw isOver ? new EpochOver(network, epoch, { cause: error }) : error
  }
}

/** Versions of candles: the writer's epoch in the high half, a counter of its writes in the low one. */
export type CandleVersions = { epoch: bigint; next(): bigint }

/**
 * The epoch is valid once the log confirms that this process is still assigned: a later writer reads this epoch and takes a higher one, and an
 * earlier writer can no longer confirm. Statements of an earlier writer may still arrive: they fail at the ledger (`inEpoch`).
 */
export async function acquireEpoch(client: ClickHouseClient, network: NetworkName): Promise<CandleVersions> {
  const [last] = await ask<{ epoch: string }>(
    client,
    'SELECT toString(max(epoch)) AS epoch FROM owners WHERE network = {network:String}',
    { network },
  )
  const epoch = BigInt(last?.epoch ?? 0) + 1n
  await insertRows(client, 'owners', (rows) =>
    rows
      .string(network)
      .uint64(epoch)
      .uint32(Math.floor(Date.now() / 1000)),
  )
  let writes = 0n
  return {
    epoch,
    next() {
      writes += 1n
      return (epoch << 64n) | writes
    },
  }
}
