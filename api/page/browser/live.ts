/// <reference lib="dom" />
/** A scene from its first candles on: loaded, then kept up to date with one small question at a time. */
import { parseInterval } from '../../interval.ts'
import { showState } from './account.ts'
import { SHORTEST_PAUSE_MS } from './budget.ts'
import { joined, reaches, toRows } from './candles.ts'
import type { Ask } from './client.ts'
import { persist } from './persist.ts'
import type { Purse } from './purse.ts'
import { candleQuery, dayQuery, type Scene, tickQuery, toListing } from './scene.ts'
import type { Held, Screen } from './screen.ts'
import { joinedTicks } from './tape.ts'
import { pause, untilVisible } from './wait.ts'

const PAGE = 100
/** Trades this old may still be undone by a reorg that we would like to see. */
const TICK_OVERLAP_MS = 60_000
/** Candles are asked for at least so often, for the next one begins without a trade too. */
const QUIET_MS = 15_000
const DAY_EVERY_MS = 300_000
const POOL_EVERY_MS = 60_000

export type Live = {
  /** Ends only by the signal, or by rejecting where waiting would not help. */
  run(signal: AbortSignal): Promise<void>
  /** A page of candles before the oldest one. */
  older(signal: AbortSignal): Promise<void>
  flip(): void
  held(): Held
}

/** What is held already of the same pool, and still holds for another scene of it. */
export type Known = Partial<Pick<Held, 'ticks' | 'dayVolume'>>

export function openLive(
  { ask, purse, screen }: { ask: Ask; purse: Purse; screen: Screen },
  scene: Scene,
  known: Known,
): Live {
  let held: Held = { rows: [], ticks: [], dayVolume: undefined, devnet: false, incomplete: false, ...known, scene }
  const seconds = parseInterval(scene.interval) ?? 60
  const times = { candles: 0, day: 0, pool: performance.now() }
  let candlesStale = false
  let askedCandles = false
  let dayCost = 2
  let reachedStart = false
  let isAsking = false
  let askedOlder = 0

  function change(more: Partial<Held>, anew = false): void {
    held = { ...held, ...more }
    screen.draw(held, anew)
  }

  async function load(signal: AbortSignal): Promise<void> {
    const [candles, ticks] = await Promise.all([
      ask('candles', candleQuery(scene, PAGE), signal),
      known.ticks === undefined ? ask('ticks', tickQuery(scene), signal) : undefined,
    ])
    times.candles = performance.now()
    const rows = toRows(candles.body.data)
    const { devnet, incomplete } = candles
    change({ rows, ...(ticks && { ticks: ticks.body.data }), devnet, incomplete }, true)
  }

  /** Asks what is most worth knowing, and answers what that cost. */
  async function turn(signal: AbortSignal): Promise<number> {
    const now = performance.now()
    const dayIsOld = held.dayVolume === undefined || now - times.day > DAY_EVERY_MS
    if (dayIsOld && purse.left() > 2 * dayCost) return day(signal)
    if (now - times.pool > POOL_EVERY_MS && purse.left() > 4) return pool(signal)
    const candlesAreOld = candlesStale || now - times.candles > Math.min(QUIET_MS, seconds * 1_000)
    askedCandles = candlesAreOld && !askedCandles
    return askedCandles ? candles(signal) : ticks(signal)
  }

  async function candles(signal: AbortSignal): Promise<number> {
    const missed = Math.ceil((performance.now() - times.candles) / 1_000 / seconds)
    times.candles = performance.now()
    let { body } = await ask('candles', candleQuery(scene, Math.min(PAGE, missed + 2)), signal)
    let cost = body.credits_used
    let page = toRows(body.data)
    if (!reaches(held.rows, page)) {
      const whole = await ask('candles', candleQuery(scene, PAGE), signal)
      body = whole.body
      cost += body.credits_used
      page = toRows(body.data)
    }
    candlesStale = false
    // So much was missed that the two runs don't meet: the new one stands.
    if (reaches(held.rows, page)) change({ rows: joined(held.rows, page) })
    else change({ rows: page }, true)
    return cost
  }

  async function ticks(signal: AbortSignal): Promise<number> {
    const newest = held.ticks.at(-1)
    const from = newest && new Date(Date.parse(newest.timestamp) - TICK_OVERLAP_MS).toISOString()
    const { body } = await ask('ticks', tickQuery(scene, from), signal)
    const next = joinedTicks(held.ticks, body.data, from)
    candlesStale = next.length !== held.ticks.length || next.at(-1)?.id !== newest?.id
    change({ ticks: next })
    return body.credits_used
  }

  async function day(signal: AbortSignal): Promise<number> {
    times.day = performance.now()
    const { body } = await ask('candles', dayQuery(scene), signal)
    dayCost = body.credits_used
    change({ dayVolume: body.data.reduce((sum, { volume }) => sum + volume, 0) })
    return body.credits_used
  }

  async function pool(signal: AbortSignal): Promise<number> {
    times.pool = performance.now()
    const { id, network, tokens } = scene.listing
    const { body } = await ask('pools', { symbol: tokens.join('-') }, signal)
    const found = body.data.find((one) => one.id === id && one.network === network)
    if (found) change({ scene: { ...held.scene, listing: toListing(found) } })
    return body.credits_used
  }

  return {
    held: () => held,
    async run(signal) {
      showState('loading')
      await persist(() => load(signal), signal)
      for (;;) {
        await untilVisible(signal)
        if (purse.isStale()) await persist(() => purse.read(signal), signal)
        const cost = await persist(() => turn(signal), signal)
        purse.spend(cost)
        const wait = purse.pauseMs(cost)
        showState(wait === undefined ? 'saving' : 'live', wait === undefined ? purse.ends() : undefined)
        await pause(wait ?? Math.max(SHORTEST_PAUSE_MS, purse.ends().getTime() - Date.now()), signal)
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
        const { body, incomplete } = await persist(() => ask('candles', candleQuery(scene, PAGE, to), signal), signal)
        // Before its first trade a pool has no candles.
        reachedStart = body.data.length < PAGE
        // The reader may have scrolled past this page already, and then drawing it asks for the next one.
        isAsking = false
        change({ rows: joined(held.rows, toRows(body.data)), incomplete: held.incomplete || incomplete })
      } finally {
        isAsking = false
      }
    },
    flip() {
      const flipped = !held.scene.flipped
      change({ scene: { ...held.scene, flipped } })
    },
  }
}
