/** Halts: stages of networks that stopped until an operator acts, for every process to read. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { ask, run } from '../store/store.ts'

export type HaltedStage = 'listener' | 'aggregator'

export type Halt = { network: NetworkName; stage: HaltedStage; reason: string; since: UnixSeconds }

/** In no particular order. */
export function readHalts(client: ClickHouseClient, networks: readonly NetworkName[]): Promise<Halt[]> {
  return ask<Halt>(
    client,
    `SELECT network, stage, reason, toUnixTimestamp(since) AS since FROM halts FINAL
     WHERE network IN {networks:Array(String)} AND is_halted`,
    { networks },
  )
}

/** The moment of the first halt stays, whatever is found at later attempts. */
export function recordHalt(client: ClickHouseClient, halt: Omit<Halt, 'since'>): Promise<void> {
  return write(client, { ...halt, isHalted: 1 })
}

export function clearHalt(client: ClickHouseClient, halt: Pick<Halt, 'network' | 'stage'>): Promise<void> {
  return write(client, { ...halt, reason: '', isHalted: 0 })
}

/** Clearing the halt of a stage without a row writes none. */
async function write(client: ClickHouseClient, halt: Omit<Halt, 'since'> & { isHalted: 0 | 1 }): Promise<void> {
  await run(
    client,
    `INSERT INTO halts
     SELECT {network:String}, {stage:String}, {isHalted:UInt8}, {reason:String},
       if(argMax(is_halted, halts.version), argMax(since, halts.version), now()), max(halts.version) + 1
     FROM halts WHERE network = {network:String} AND stage = {stage:String}
     HAVING {isHalted:UInt8} OR argMax(is_halted, halts.version)`,
    halt,
  )
}
