/** Keeps what is held of the candles up to date: looks at what was written since, and where the ledgers stand. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { FlushEvent, WriteEvent } from '../../../aggregator/candles/changes.ts'
import { PriorityQueue } from '../../../aggregator/store/priority-queue.ts'
import { whenIdle } from '../../../ingest/lib/live-priority.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { cachedValue } from '../../lib/cached-value.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { listingKey } from '../model/listing.ts'
import { readTips, type Tip } from '../model/tip.ts'
import type { BucketCache } from './bucket-cache.ts'
import { type PoolChange, renewalOf } from './cache-refresh.ts'
import { unheardChanges } from './change-counter.ts'
import { type Coverage, readCoverages } from './coverage.ts'

const CHANGES = readSql(new URL('./changes.sql', import.meta.url))
const NEWEST = readSql(new URL('./newest-change.sql', import.meta.url))

/** While somebody asks, we look this often; and for so long after the last question. */
const ASKED_MS = 2_000
/** `changes` are kept for an hour; whoever has not looked for so long begins anew. */
const BLIND_MS = 10 * 60_000
/** Where flushes are heard of, what others write is looked for at least this often. */
const HEARD_MS = 10_000
/** A change that the ledger never reaches, such as of a writer that died. */
const PATIENCE_MS = 60_000

/** Where a network's ledger stands, and which blocks are known. */
export type NetworkState = { tip: Tip | undefined; coverage: Coverage }

export type ChangePoller = {
  /** Of each network; what is held of the candles is as new as that, or newer. At most `freshMs` old. */
  states(): Promise<ReadonlyMap<NetworkName, NetworkState>>
  /** Something was written just now, by this process. */
  onFlush(written: WriteEvent): void
}

type Change = PoolChange & { block: number; since: number }

export function openChangePoller(options: {
  reader: ClickHouseClient
  networks: readonly NetworkName[]
  cache: BucketCache
  freshMs: number
  /** How often to look without being told. */
  everyMs: number
  /** Something of some pools was written, candles or not; where it is not known of which, of any. */
  onChange: (network: NetworkName, pools?: Iterable<PoolId>) => void
}): ChangePoller {
  const { reader, networks, cache, freshMs, everyMs, onChange } = options
  const sequences = new Map<NetworkName, string>()
  /** By network and pool: changes that the ledger may not show yet. */
  const pending = new Map<NetworkName, Map<PoolId, Change>>(networks.map((network) => [network, new Map()]))
  const knowns = cachedValue(() => readCoverages(reader, networks, standings), freshMs / 2)
  /** Changes that this process made, and takes in. */
  const heard = new Map(networks.map((network) => [network, new Set<bigint>()]))
  /** Up to which they are taken in. */
  const takenIn = new Map<NetworkName, bigint>()
  /** Of the newest, while the ledger does not show it yet. */
  const ahead = new Map<NetworkName, bigint>()
  const standings = new Map<NetworkName, NetworkState>()
  let lookedMs = Number.NEGATIVE_INFINITY
  let askedMs = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  const unheard = unheardChanges(reader)
  const { take, renew } = renewalOf(reader, cache)
  /** When a network's newest flush was heard of. */
  const heardMs = new Map<NetworkName, number>()
  const isAsked = () => performance.now() - askedMs < ASKED_MS

  /** What was looked up and what was heard of are taken in one after the other. */
  const turns = new PriorityQueue()

  const looked = cachedValue(async () => {
    const began = performance.now()
    if (began - lookedMs > BLIND_MS) {
      cache.evictAll()
      for (const network of networks) onChange(network)
      sequences.clear()
    }
    // Before the changes: whatever stands on a ledger is told of by then.
    const [newTips, newKnown] = await Promise.all([readTips(reader, networks, standings), knowns.get()])
    const changes = await Promise.all(networks.map(readChanges))
    await turns.low(async () => {
      await Promise.all(networks.map((network, index) => follow(network, newTips.get(network), changes[index])))
      for (const [network, known] of newKnown) {
        const isHeard = ahead.has(network) || (heardMs.get(network) ?? 0) > began
        const newer = isHeard ? standings.get(network) : undefined
        stand(network, { tip: newer ? newer.tip : newTips.get(network), coverage: known })
      }
      lookedMs = began
    })
    return standings
  }, freshMs)

  /** Of each network the newest standing is younger than this share of what it may be. */
  function isWithin(share: number): boolean {
    const now = performance.now()
    const isYoung = (network: NetworkName) =>
      now - Math.max(lookedMs, heardMs.get(network) ?? lookedMs) < share * freshMs
    return now - lookedMs < share * HEARD_MS && networks.every(isYoung)
  }

  function isHearing(): boolean {
    return Math.max(...heardMs.values()) > performance.now() - HEARD_MS
  }

  /** What a flush of ours has brought needs no search. */
  async function hear({ network, flushed }: WriteEvent): Promise<void> {
    const isBlind = performance.now() - lookedMs > BLIND_MS
    if (!flushed || (isBlind && !ahead.has(network))) {
      // What was heard before is taken in first, so that this look sees what came of it.
      await turns.low(async () => undefined)
      await looked.reload()
      return
    }
    const { sequence, isRecorded, touched, balances } = flushed
    heard.get(network)?.add(sequence)
    ahead.set(network, sequence)
    await turns.low(async () => {
      try {
        if ((takenIn.get(network) ?? 0n) < sequence) await takeIn(network, flushed)
      } catch (error) {
        // Nobody looks for it any more.
        cache.evictAll()
        throw error
      } finally {
        if (isRecorded && ahead.get(network) === sequence) ahead.delete(network)
      }
      if (!isRecorded) return
      heardMs.set(network, performance.now())
      unheard.hear(touched.length)
      // They count from now on.
      if (balances.length > 0) onChange(network, balances)
    })
  }

  async function takeIn(network: NetworkName, { tip, touched, buckets, sequence, version }: FlushEvent): Promise<void> {
    const now = performance.now()
    const held = touched.filter(({ pool }) => cache.has(listingKey(network, pool)))
    for (const { pool } of held) cache.markStale(listingKey(network, pool))
    if (buckets) take(network, buckets)
    else await renew(network, new Map(held.map((change) => [change.pool, { ...change, version }])))
    onChange(
      network,
      touched.map(({ pool }) => pool),
    )
    takenIn.set(network, sequence)
    const known = standings.get(network)?.coverage
    if (!known) return
    stand(network, { tip, coverage: known })
    heardMs.set(network, now)
  }

  function stand(network: NetworkName, standing: NetworkState): void {
    // It goes back before anybody says what went with it.
    if ((standing.tip?.number ?? 0) < (standings.get(network)?.tip?.number ?? 0)) onChange(network)
    standings.set(network, standing)
  }

  /** Those since the last ones; at first only which is the newest. */
  async function readChanges(network: NetworkName): Promise<readonly ChangeRow[]> {
    const after = sequences.get(network)
    if (after !== undefined) return queryRows<ChangeRow>(reader, CHANGES, { network, after })
    const [newest] = await queryRows<{ number: string }>(reader, NEWEST, { network })
    sequences.set(network, newest?.number ?? '0')
    return []
  }

  async function follow(network: NetworkName, tip: Tip | undefined, changes: readonly ChangeRow[] = []): Promise<void> {
    const open = pending.get(network) ?? new Map<PoolId, Change>()
    const told = new Set(open.keys())
    let isOfAny = false
    const ours = heard.get(network)
    for (const { number, pool, first, last, ...change } of changes) {
      sequences.set(network, number)
      if (ours?.has(BigInt(number))) continue
      const known = open.get(pool)
      const [block, version] = [Number(change.block), BigInt(change.version)]
      told.add(pool)
      // Whoever writes anything but the next block does not name all that it touches.
      if (block === 0) isOfAny = true
      // Balances count from then on.
      const isAwaited = known !== undefined || block > (tip?.number ?? 0)
      if (!isAwaited && !cache.has(listingKey(network, pool))) continue
      open.set(pool, {
        pool,
        first: Math.min(first, known?.first ?? first),
        last: Math.max(last, known?.last ?? last),
        block: Math.max(block, known?.block ?? 0),
        version: known && known.version < version ? known.version : version,
        since: performance.now(),
      })
    }
    const reached = BigInt(sequences.get(network) ?? 0)
    for (const sequence of ours ?? []) if (sequence <= reached) ours?.delete(sequence)
    onChange(network, isOfAny ? undefined : told)
    if (open.size === 0) return
    for (const pool of open.keys()) cache.markStale(listingKey(network, pool))
    const isShown = ({ block, since }: Change) => block <= (tip?.number ?? 0) || performance.now() - since > PATIENCE_MS
    const done = [...open].filter(([, change]) => isShown(change))
    await renew(network, open)
    for (const [pool] of done) open.delete(pool)
  }

  /** Most looks would find nothing new. */
  async function glance(): Promise<void> {
    // Before anybody has to wait for it.
    const isDue = !isWithin(1 / 2) || [...pending.values()].some(({ size }) => size > 0)
    if (isDue || (await unheard.isThere(isHearing()))) await looked.reload()
  }

  function schedule(): void {
    if (timer) return
    timer = setTimeout(async () => {
      await whenIdle()
      // Whoever asks next is told what is wrong.
      await glance().catch(() => undefined)
      timer = undefined
      if (isAsked()) schedule()
    }, everyMs).unref()
  }

  return {
    states() {
      askedMs = performance.now()
      schedule()
      return isWithin(1) ? Promise.resolve(standings) : looked.get()
    },
    onFlush(written) {
      // Who has heard that it is stored has to hear how that ends.
      if (isAsked() || ahead.has(written.network)) void hear(written).catch(() => undefined)
    },
  }
}

type ChangeRow = { number: string; pool: PoolId; first: UnixSeconds; last: UnixSeconds; block: string; version: string }
