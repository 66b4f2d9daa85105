/** Chooses the tokens to read next: tokens of pools that traded lately, and in turn the tokens of all pools. */
import { randomBytes } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import { NATIVE_CURRENCY, type NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { ask, loadSql } from '../store/store.ts'
import { storedPools } from '../store/stored-pools.ts'

const recentSql = loadSql(import.meta.url, './recent_pools.sql')
const nextSql = loadSql(import.meta.url, './next_pools.sql')

/** Anyone can make any number of pools trade: they are drawn at random, so that none is kept out for long. */
const RECENT_POOLS = 80
const NEXT_POOLS = 20
const RECENT_SECONDS = 900
/** A token that was read is left out for so long, as far as it is remembered. */
const REST_MS = 6 * 3_600_000
const MAX_REMEMBERED = 20_000

export type DueTokens = {
  /** At most `limit`, each once. */
  next(limit: number): Promise<Address[]>
  /** They were read just now. */
  wereRead(tokens: Iterable<Address>): void
}

export function openDueTokens(client: ClickHouseClient, network: NetworkName, restMs = REST_MS): DueTokens {
  const resting = new LRUCache<Address, true>({ max: MAX_REMEMBERED, ttl: restMs || 1, ttlResolution: 0 })
  const pools = storedPools(client, network)
  /** A start anywhere: no start is like the one before it. */
  let after: string = `0x${randomBytes(20).toString('hex')}`

  async function nextPools(): Promise<PoolId[]> {
    const rows = await ask<{ pool: PoolId }>(client, nextSql, { network, after, pools: NEXT_POOLS })
    after = rows.length < NEXT_POOLS ? '' : (rows.at(-1)?.pool ?? '')
    return rows.map(({ pool }) => pool)
  }

  return {
    async next(limit) {
      const places = { network, seconds: RECENT_SECONDS, pools: RECENT_POOLS }
      const recent = (await ask<{ pool: PoolId }>(client, recentSql, places)).map(({ pool }) => pool)
      const found = await pools([...new Set([...recent, ...(await nextPools())])])
      const place = new Map(recent.map((pool, index) => [pool, index]))
      const ordered = found.sort((a, b) => (place.get(a.id) ?? RECENT_POOLS) - (place.get(b.id) ?? RECENT_POOLS))
      const due = new Set<Address>()
      for (const { token0, token1 } of ordered)
        for (const { address } of [token0, token1])
          if (address !== NATIVE_CURRENCY && !resting.has(address)) due.add(address)
      return [...due].slice(0, limit)
    },
    wereRead(tokens) {
      for (const token of tokens) resting.set(token, true)
    },
  }
}
