/// <reference lib="dom" />
/** A scene from its first candles on: loaded, then updated by one small request at a time. */
import { parseInterval } from '../../query/interval.ts'
import { showState } from './account/account.ts'
import { READ_AFTER_MS, SHORTEST_PAUSE_MS } from './account/budget.ts'
import type { CreditBudget } from './account/credit-budget.ts'
import { persist } from './account/persist.ts'
import { continues, joined, reaches, shareTrades } from './chart/candles.ts'
import type { QueryApi } from './lib/client.ts'
import { amountText } from './lib/format.ts'
import { pause, untilVisible } from './lib/wait.ts'
import { openCandleQuery } from './market/candle-query.ts'
import { candleQuery, dayQuery, type Scene, tickQuery, toListing } from './market/scene.ts'
import { hasNewest, joinedTicks } from './market/tape.ts'
import type { SceneData, Screen } from './screen.ts'

const PAGE = 100
/** Trades of this age are requested again, because a reorg may undo them. */
const TICK_OVERLAP_MS = 60_000
/** Candles are requested at least this often: the next one begins without a trade too. */
const QUIET_MS = 15_000
/** At the earliest; where credits are few, once in so many credits. */
const DAY_EVERY = { ms: 300_000, credits: 40 } as const
const POOL_EVERY = { ms: 60_000, credits: 20 } as const
/** A longer pause is shown. */
const SAVING_MS = 15_000

export type Live = {
  /** Ends only by the signal, or rejects where a retry would not help. */
  run(signal: AbortSignal): Promise<void>
  /** Loads a page of candles before the oldest one. */
  older(signal: AbortSignal): Promise<void>
  held(): SceneData
}

/** A live request. */
type Turn = { cost: number; at: number }

/** Loaded data of the same pool that is valid for another scene of it. */
export type CarriedData = Partial<Pick<SceneData, 'ticks' | 'dayVolume'>>

export function carriedData(shown: SceneData | undefined, wanted: Scene): CarriedData {
  if (shown === undefined) return {}
  const { scene, rows, ticks, dayVolume } = shown
  if (scene.listing.id !== wanted.listing.id || scene.listing.network !== wanted.listing.network) return {}
  // The price of trades depends on the kind of price too.
  return {
    ...(scene.price === wanted.price && rows.length > 0 && { ticks }),
    ...(scene.flipped === wanted.flipped && { dayVolume }),
  }
}

export function openLive(
  {
    ask,
    purse,
    screen,
    on,
  }: {
    ask: QueryApi
    purse: CreditBudget
    screen: Screen
    on: {
      /** The first candles have arrived: the screen shows this scene from now on. */
      shown(): void
      /** They have not arrived yet. */
      waiting(): void
    }
  },
  scene: Scene,
  known: CarriedData,
): Live {
  let held: SceneData = {
    rows: [],
    unit: '',
    ticks: [],
    dayVolume: undefined,
    devnet: false,
    incomplete: false,
    ...known,
    scene,
  }
  const askCandles = openCandleQuery(ask, scene)
  const seconds = parseInterval(scene.interval) ?? 60
  const times = { candles: 0, day: 0, pool: performance.now() }
  let candlesStale = false
  let askedCandles = false
  let isShown = false
  let dayCost = 2
  let reachedStart = false
  let isAsking = false
  let askedOlder = 0

  function change(more: Partial<SceneData>, reset = false): void {
    held = { ...held, ...more }
    if (isShown) screen.draw(held, reset)
  }

  /** The screen changes only once all parts have arrived. */
  async function load(signal: AbortSignal): Promise<void> {
    const [candles, ticks] = await Promise.all([
      askCandles(candleQuery(scene, PAGE), signal),
      known.ticks === undefined ? ask('ticks', tickQuery(scene), signal) : undefined,
    ])
    signal.throwIfAborted()
    times.candles = performance.now()
    const { rows, unit, devnet, incomplete } = candles
    on.shown()
    isShown = true
    change({ rows, unit, ...(ticks && { ticks: ticks.body.data }), devnet, incomplete }, true)
  }

  /** Sends the most useful request, and returns its cost. */
  async function turn(signal: AbortSignal): Promise<number> {
    const now = performance.now()
    const isOld = (time: number, { ms, credits }: typeof DAY_EVERY | typeof POOL_EVERY) =>
      now - time > Math.max(ms, credits * (purse.pauseMs(1) ?? Number.POSITIVE_INFINITY))
    const dayIsOld = held.dayVolume === undefined || isOld(times.day, DAY_EVERY)
    if (dayIsOld && purse.left() > 2 * dayCost) return day(signal)
    if (isOld(times.pool, POOL_EVERY) && purse.left() > 4) return pool(signal)
    const candlesAreOld = candlesStale || now - times.candles > Math.min(QUIET_MS, seconds * 1_000)
    askedCandles = candlesAreOld && !askedCandles
    return askedCandles ? candles(signal) : ticks(signal)
  }

  async function candles(signal: AbortSignal): Promise<number> {
    const missed = Math.ceil((performance.now() - times.candles) / 1_000 / seconds)
    times.candles = performance.now()
    const limit = Math.min(PAGE, missed + 2)
    const { rows: page, cost, incomplete } = await askCandles(candleQuery(scene, limit), signal)
    candlesStale = false
    const isShort = !incomplete && page.length < limit
    if (!reaches(held.rows, page) || !continues(held.rows, page, isShort)) return cost + (await compare(signal))
    change({ rows: joined(held.rows, page) })
    return cost
  }

  /**
   * The loaded data does not connect to an answer: too much was missed, a reorg was deep, or the store has another chain, whose rows must
   * not stand beside these.
   */
  async function compare(signal: AbortSignal): Promise<number> {
    const { candles, ticks } = await askBoth(signal)
    const { rows: page, unit } = candles
    const isShort = !candles.incomplete && page.length < PAGE
    const isOne = reaches(held.rows, page) && (continues(held.rows, page, isShort) || shareTrades(held.rows, page))
    const { devnet, incomplete } = candles
    const rows = isOne ? joined(held.rows, page) : page
    const dayVolume = isOne ? held.dayVolume : undefined
    if (!isOne) reachedStart = false
    change({ rows, unit, ticks: ticks.body.data, dayVolume, devnet, incomplete }, !isOne)
    return candles.cost + ticks.body.credits_used
  }

  async function askBoth(signal: AbortSignal) {
    const [candles, ticks] = await Promise.all([
      askCandles(candleQuery(scene, PAGE), signal),
      ask('ticks', tickQuery(scene), signal),
    ])
    times.candles = performance.now()
    return { candles, ticks }
  }

  async function ticks(signal: AbortSignal): Promise<number> {
    const newest = held.ticks.at(-1)
    const from = newest && new Date(Date.parse(newest.timestamp) - TICK_OVERLAP_MS).toISOString()
    const { body } = await ask('ticks', tickQuery(scene, from), signal)
    if (!hasNewest(held.ticks, body.data)) return body.credits_used + (await compare(signal))
    const next = joinedTicks(held.ticks, body.data, from)
    candlesStale = next.length !== held.ticks.length || next.at(-1)?.id !== newest?.id
    change({ ticks: next })
    return body.credits_used
  }

  async function day(signal: AbortSignal): Promise<number> {
    times.day = performance.now()
    const { rows, unit, cost } = await askCandles(dayQuery(scene), signal)
    dayCost = cost
    change({ dayVolume: `${amountText(rows.reduce((sum, { volume }) => sum + volume, 0))} ${unit}` })
    return cost
  }

  async function pool(signal: AbortSignal): Promise<number> {
    times.pool = performance.now()
    const { id, network, tokens } = scene.listing
    const { body } = await ask('pools', { symbol: tokens.join('-') }, signal)
    const found = body.data.find((one) => one.id === id && one.network === network)
    if (found) change({ scene: { ...held.scene, listing: toListing(found) } })
    return body.credits_used
  }

  /** Milliseconds until the next request, shown on the page. */
  function waitMs(last: Turn | undefined): number {
    if (last === undefined) return 0
    const pause = purse.pauseMs(last.cost)
    const due = pause === undefined ? purse.ends().getTime() : last.at + pause
    const wait = pause === undefined ? Math.max(SHORTEST_PAUSE_MS, due - Date.now()) : due - Date.now()
    if (wait > SAVING_MS || pause === undefined) showState('saving', new Date(due))
    else if (wait > 0) showState('live')
    return wait
  }

  return {
    held: () => held,
    async run(signal) {
      showState('loading')
      await persist(() => load(signal), signal, on.waiting)
      let last: Turn | undefined
      for (;;) {
        await untilVisible(signal)
        if (purse.isStale()) await persist(() => purse.read(signal), signal)
        const wait = waitMs(last)
        if (wait > 0) {
          await pause(Math.min(wait, READ_AFTER_MS), signal)
          continue
        }
        const cost = await persist(() => turn(signal), signal)
        purse.spend(cost)
        last = { cost, at: Date.now() }
      }
    },
    async older(signal) {
      const [oldest] = held.rows
      if (oldest === undefined || reachedStart || isAsking) return
      isAsking = true
      try {
        await pause(Math.max(0, askedOlder + SHORTEST_PAUSE_MS - performance.now()), signal)
        askedOlder = performance.now()
        const to = new Date(oldest.time * 1_000).toISOString()
        const { rows, incomplete } = await persist(() => askCandles(candleQuery(scene, PAGE, to), signal), signal)
        // Meanwhile another chain may have replaced this one.
        if (held.rows[0] !== oldest) return
        // Before its first trade a pool has no candles.
        reachedStart = rows.length < PAGE
        // The reader may have scrolled past this page already; then drawing it requests the next one.
        isAsking = false
        change({ rows: joined(held.rows, rows), incomplete: held.incomplete || incomplete })
      } finally {
        isAsking = false
      }
    },
  }
}
