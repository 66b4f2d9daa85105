/// <reference lib="dom" />
/** A scene from its first candles on: loaded, then updated by streams, or else by one small request at a time. */
import { parseInterval } from '../../../query/interval.ts'
import { showState } from './account/account.ts'
import { READ_AFTER_MS, SHORTEST_PAUSE_MS } from './account/budget.ts'
import { type CreditBudget, type LiveRequest, showWait } from './account/credit-budget.ts'
import { persist } from './account/persist.ts'
import { type ChartCandle, continued, continues, joined, reaches, shareTrades } from './chart/candles.ts'
import type { QueryApi, StreamApi } from './lib/client.ts'
import { pause, untilVisible } from './lib/wait.ts'
import { openCandleQuery, type SceneCandles } from './market/candle-query.ts'
import type { TickRow } from './market/orientation.ts'
import { candleQuery, pairQuery, type Scene, tickQuery, toListing } from './market/scene.ts'
import { hasNewest, joinedTicks } from './market/tape.ts'
import { type CarriedData, loadedHour, PAGE, readDay, readHour, type SceneData } from './scene-data.ts'
import { openSceneStreams, type SceneStreams, type StreamedRows } from './scene-streams.ts'
import type { Screen } from './screen.ts'

/** Trades of this age are requested again, because a reorg may undo them. */
const TICK_OVERLAP_MS = 60_000
/** Candles are requested at least this often: the next one begins without a trade too. */
const QUIET_MS = 15_000
/** At the earliest; where credits are few, once in so many credits. */
const DAY_EVERY = { ms: 300_000, credits: 40 } as const
const POOL_EVERY = { ms: 60_000, credits: 20 } as const
/** Where the chart's candles do not have it. */
const HOUR_EVERY = { ms: DAY_EVERY.ms, credits: POOL_EVERY.credits } as const

export type Live = {
  /** Ends only by the signal, or rejects where a retry would not help. */
  run(signal: AbortSignal): Promise<void>
  /** Loads a page of candles before the oldest one. */
  older(signal: AbortSignal): Promise<void>
  data(): SceneData
}

export type SceneOptions = {
  ask: QueryApi
  stream: StreamApi
  budget: CreditBudget
  /** `chart` asks for candles alone. */
  parts: 'market' | 'chart'
  screen: Pick<Screen, 'draw'>
  on: {
    /** The first candles have arrived: the screen shows this scene from now on. */
    shown(): void
    /** They have not arrived yet. */
    waiting(): void
  }
}

export function openLive(options: SceneOptions, scene: Scene, known: CarriedData): Live {
  return new LiveScene(options, scene, known)
}

class LiveScene implements Live {
  readonly #options: SceneOptions
  readonly #scene: Scene
  readonly #known: CarriedData
  readonly #query: SceneCandles
  readonly #streams: SceneStreams
  readonly #seconds: number
  readonly #times = { candles: 0, day: 0, hour: Number.NEGATIVE_INFINITY, pool: performance.now() }
  #data: SceneData
  #candlesStale = false
  #askedCandles = false
  #isShown = false
  #dayCost = 3
  #hourCost = 1
  #reachedStart = false
  #isAsking = false
  #askedOlder = 0

  constructor(options: SceneOptions, scene: Scene, known: CarriedData) {
    this.#options = options
    this.#scene = scene
    this.#known = known
    this.#query = openCandleQuery(options.ask, scene)
    const on: Parameters<typeof openSceneStreams>[0]['on'] = {
      candles: (answer, signal) => this.#takeCandles(answer, signal),
      ...(options.parts === 'market' && { ticks: (answer, signal) => this.#takeTicks(answer, signal) }),
    }
    this.#streams = openSceneStreams({ ...options, scene, candles: this.#query, on })
    this.#seconds = parseInterval(scene.interval) ?? 60
    const empty = { rows: [], unit: '', ticks: [], day: undefined, hour: undefined, devnet: false, incomplete: false }
    this.#data = { ...empty, ...known, scene }
    if (known.hour !== undefined) this.#times.hour = 0
  }

  data(): SceneData {
    return this.#data
  }

  async run(signal: AbortSignal): Promise<void> {
    const { budget, on } = this.#options
    showState('loading')
    await persist(() => this.#load(signal), signal, on.waiting)
    let last: LiveRequest | undefined
    for (;;) {
      await untilVisible(signal)
      if (budget.isStale()) await persist(() => budget.read(signal), signal)
      this.#streams.tend(signal)
      const wait = showWait(budget, last, this.#streams.isLive())
      if (wait > 0) {
        await pause(Math.min(wait, READ_AFTER_MS), signal)
        continue
      }
      const cost = await persist(() => this.#turn(signal), signal)
      budget.spend(cost)
      last = { cost, at: Date.now() }
    }
  }

  async older(signal: AbortSignal): Promise<void> {
    const [oldest] = this.#data.rows
    if (oldest === undefined || this.#reachedStart || this.#isAsking) return
    this.#isAsking = true
    try {
      await pause(Math.max(0, this.#askedOlder + SHORTEST_PAUSE_MS - performance.now()), signal)
      this.#askedOlder = performance.now()
      const to = new Date(oldest.time * 1_000).toISOString()
      const query = candleQuery(this.#scene, PAGE, to)
      const { rows, incomplete } = await persist(() => this.#query.ask(query, signal), signal)
      // Meanwhile another chain may have replaced this one.
      if (this.#data.rows[0] !== oldest) return
      // Before its first trade a pool has no candles.
      this.#reachedStart = rows.length < PAGE
      // The reader may have scrolled past this page already; then drawing it requests the next one.
      this.#isAsking = false
      this.#change({ rows: joined(this.#data.rows, rows), incomplete: this.#data.incomplete || incomplete })
    } finally {
      this.#isAsking = false
    }
  }

  #change(more: Partial<SceneData>, reset = false): void {
    this.#data = { ...this.#data, ...more }
    if (this.#isShown) this.#options.screen.draw(this.#data, reset)
  }

  /** The screen changes only once all parts have arrived. */
  async #load(signal: AbortSignal): Promise<void> {
    const { candles, ticks } = await this.#askAll(signal, this.#known.ticks)
    signal.throwIfAborted()
    const { rows, unit, devnet, incomplete } = candles
    this.#options.on.shown()
    this.#isShown = true
    this.#change({ rows, unit, ticks, devnet, incomplete }, true)
  }

  /** Sends the most useful request, and returns its cost: 0 while streams bring all changes. */
  async #turn(signal: AbortSignal): Promise<number> {
    const { budget, parts } = this.#options
    if (parts === 'chart') return this.#streams.isLive() ? 0 : this.#candles(signal)
    const now = performance.now()
    const isOld = (time: number, { ms, credits }: { ms: number; credits: number }) =>
      now - time > Math.max(ms, credits * (budget.pauseMs(1) ?? Number.POSITIVE_INFINITY))
    const dayIsOld = this.#data.day === undefined || isOld(this.#times.day, DAY_EVERY)
    if (dayIsOld && budget.left() > 2 * this.#dayCost) return this.#day(signal)
    const hourIsOld = loadedHour(this.#data) === undefined && isOld(this.#times.hour, HOUR_EVERY)
    if (hourIsOld && this.#data.rows.length > 0 && budget.left() > 2 * this.#hourCost) return this.#hour(signal)
    if (isOld(this.#times.pool, POOL_EVERY) && budget.left() > 4) return this.#pool(signal)
    if (this.#streams.isLive()) return 0
    const maxAgeMs = Math.min(QUIET_MS, this.#seconds * 1_000)
    const candlesAreOld = this.#candlesStale || now - this.#times.candles > maxAgeMs
    this.#askedCandles = candlesAreOld && !this.#askedCandles
    return this.#askedCandles ? this.#candles(signal) : this.#ticks(signal)
  }

  async #candles(signal: AbortSignal): Promise<number> {
    const missed = Math.ceil((performance.now() - this.#times.candles) / 1_000 / this.#seconds)
    this.#times.candles = performance.now()
    const limit = Math.min(PAGE, missed + 2)
    const { rows: page, cost, incomplete } = await this.#query.ask(candleQuery(this.#scene, limit), signal)
    this.#candlesStale = false
    return cost + (await this.#joinCandles(page, !incomplete && page.length < limit, signal))
  }

  async #joinCandles(page: readonly ChartCandle[], isShort: boolean, signal: AbortSignal): Promise<number> {
    const { rows } = this.#data
    if (!reaches(rows, page) || !continues(rows, page, isShort)) return this.#compare(signal)
    this.#change({ rows: joined(rows, page) })
    return 0
  }

  async #takeCandles({ rows, isFirst, incomplete }: StreamedRows<ChartCandle>, signal: AbortSignal): Promise<void> {
    this.#times.candles = performance.now()
    const isShort = !incomplete && rows.length < PAGE
    if (isFirst) this.#options.budget.spend(await this.#joinCandles(rows, isShort, signal))
    else this.#change({ rows: continued(this.#data.rows, rows) })
  }

  async #takeTicks({ rows, isFirst }: StreamedRows<TickRow>, signal: AbortSignal): Promise<void> {
    if (isFirst && !hasNewest(this.#data.ticks, rows)) this.#options.budget.spend(await this.#compare(signal))
    else this.#change({ ticks: rows })
  }

  /**
   * The loaded data does not connect to an answer: too many changes were missed, a reorg was deep, or the store has another chain, and rows of
   * two chains must not be mixed.
   */
  async #compare(signal: AbortSignal): Promise<number> {
    const { candles, ticks, cost } = await this.#askAll(signal)
    const { rows: page, unit, devnet, incomplete } = candles
    const loaded = this.#data
    const isShort = !incomplete && page.length < PAGE
    const isOne =
      reaches(loaded.rows, page) && (continues(loaded.rows, page, isShort) || shareTrades(loaded.rows, page))
    const rows = isOne ? joined(loaded.rows, page) : page
    const { day, hour } = isOne ? loaded : { day: undefined, hour: undefined }
    if (!isOne) {
      this.#reachedStart = false
      this.#times.hour = Number.NEGATIVE_INFINITY
    }
    this.#change({ rows, unit, ticks, day, hour, devnet, incomplete }, !isOne)
    return cost
  }

  async #askAll(signal: AbortSignal, known?: readonly TickRow[]) {
    const asksTicks = this.#options.parts === 'market' && known === undefined
    const [candles, ticks] = await Promise.all([
      this.#query.ask(candleQuery(this.#scene, PAGE), signal),
      asksTicks ? this.#options.ask('ticks', tickQuery(this.#scene), signal) : undefined,
    ])
    this.#times.candles = performance.now()
    const cost = candles.cost + (ticks?.body.credits_used ?? 0)
    return { candles, ticks: ticks?.body.data ?? known ?? [], cost }
  }

  async #ticks(signal: AbortSignal): Promise<number> {
    const newest = this.#data.ticks.at(-1)
    const from = newest && new Date(Date.parse(newest.timestamp) - TICK_OVERLAP_MS).toISOString()
    const { body } = await this.#options.ask('ticks', tickQuery(this.#scene, from), signal)
    // A pool that trades a lot fills each answer with later trades.
    const isFull = body.data.length >= PAGE
    if (!isFull && !hasNewest(this.#data.ticks, body.data)) return body.credits_used + (await this.#compare(signal))
    const next = joinedTicks(this.#data.ticks, body.data, from)
    this.#candlesStale = next.length !== this.#data.ticks.length || next.at(-1)?.id !== newest?.id
    this.#change({ ticks: next })
    return body.credits_used
  }

  async #day(signal: AbortSignal): Promise<number> {
    this.#times.day = performance.now()
    const { day, cost } = await readDay(this.#query, this.#scene, signal)
    this.#dayCost = cost
    this.#change({ day })
    return cost
  }

  async #hour(signal: AbortSignal): Promise<number> {
    this.#times.hour = performance.now()
    const { hour, cost } = await readHour(this.#query, this.#scene, signal)
    this.#hourCost = cost
    this.#change({ hour })
    return cost
  }

  async #pool(signal: AbortSignal): Promise<number> {
    this.#times.pool = performance.now()
    const { id, network, tokens } = this.#scene.listing
    const { body } = await this.#options.ask('pools', pairQuery(tokens.join('-')), signal)
    const found = body.data.find((one) => one.id === id && one.network === network)
    if (found) this.#change({ scene: { ...this.#data.scene, listing: toListing(found) } })
    return body.credits_used
  }
}
