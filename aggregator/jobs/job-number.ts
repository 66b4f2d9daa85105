/** Job numbers: one job each, and in the order in which jobs were opened, because rows of a higher number replace those of a lower one. */
import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import { ask, run } from '../store/store.ts'

const FIRST_WAIT_MS = 10
const MAX_WAIT_MS = 500

/**
 * Claims a number, then reads the claims again: the number is taken only where no other claim or job has it or a higher one. Of two claims
 * the later insert always sees the earlier one, so that two processes never take the same number, and a number that is taken is above every
 * number taken before. A claim that is given up, or left by a crash, stays unused.
 */
export async function claimJobNumber(client: ClickHouseClient, network: NetworkName): Promise<number> {
  for (let contenders = 0, waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
    // Contenders that spread out collide less often.
    const id = (await highestNumber(client, network)) + 1 + randomInt(contenders + 1)
    const claim = randomUUID()
    await run(client, 'INSERT INTO job_claims SELECT {network:String}, {id:UInt32}, {claim:UUID}', {
      network,
      id,
      claim,
    })
    contenders = await countOthers(client, network, { id, claim })
    if (contenders === 0) return id
    await sleep(randomInt(waitMs))
  }
}

async function highestNumber(client: ClickHouseClient, network: NetworkName): Promise<number> {
  const [highest] = await ask<{ id: number }>(
    client,
    `SELECT greatest(
       (SELECT max(id) FROM jobs WHERE network = {network:String}),
       (SELECT max(id) FROM job_claims WHERE network = {network:String})) AS id`,
    { network },
  )
  return highest?.id ?? 0
}

/** Counts `jobs` too: a process of an older version opens jobs without a claim. */
async function countOthers(client: ClickHouseClient, network: NetworkName, own: { id: number; claim: string }) {
  const [others] = await ask<{ count: number }>(
    client,
    `SELECT toFloat64(
       (SELECT count() FROM job_claims WHERE network = {network:String} AND id >= {id:UInt32} AND claim != {claim:UUID})
       + (SELECT count() FROM jobs WHERE network = {network:String} AND id >= {id:UInt32})) AS count`,
    { network, ...own },
  )
  return others?.count ?? 0
}
