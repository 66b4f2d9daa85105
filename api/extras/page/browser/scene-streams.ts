/// <reference lib="dom" />
/** Candles and trades of a scene, by a stream each: changes arrive block by block. A stream costs a credit a minute. */

import { FoldedRows } from '../../clients/typescript/src/folded.ts'
import type { CreditBudget } from './account/credit-budget.ts'
import type { ChartCandle } from './chart/candles.ts'
import type { Bodies, StreamApi } from './lib/client.ts'
import type { SceneCandles } from './market/candle-query.ts'
import type { TickRow } from './market/orientation.ts'
import { candleQuery, type Scene, tickStreamQuery } from './market/scene.ts'

/** Rows of each stream: as many as an answer has. */
const ROWS = 100
const MINUTE_MS = 60_000
/** Without an event for this long the page polls too: the store may be down. */
const SILENT_MS = 20_000
/** After streams have ended, the page polls for this time. */
const POLLED_MS = 10_000
/** Over HTTP/1 a browser opens six connections to a host, for all tabs together: two tabs have streams, others poll. */
const SLOTS = ['candlepool-streams-1', 'candlepool-streams-2'] as const

export type SceneStreamsOptions = {
  scene: Scene
  candles: SceneCandles
  stream: StreamApi
  budget: CreditBudget
  on: {
    candles(answer: StreamedRows<ChartCandle>, signal: AbortSignal): Promise<void>
    /** Absent where no trades are shown: candles have a stream alone. */
    ticks?(answer: StreamedRows<TickRow>, signal: AbortSignal): Promise<void>
  }
}

/** The newest rows of a stream. Between two of these no change is missing; before the first one, changes may be. */
export type StreamedRows<Row> = { rows: readonly Row[]; isFirst: boolean; incomplete: boolean }

export type SceneStreams = {
  /** True if all streams have sent rows, and one of them lately. */
  isLive(): boolean
  /** Opens streams where the budget has credits for them, and closes them where it has none. */
  tend(signal: AbortSignal): void
}

export function openSceneStreams({ scene, candles, stream, budget, on }: SceneStreamsOptions): SceneStreams {
  const creditsAMinute = on.ticks === undefined ? 1 : 2
  let open: AbortController | undefined
  let received = new Set<string>()
  let receivedAt = 0
  let dueAt = 0

  async function follow<Row>(
    what: 'candles' | 'ticks',
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    show: (answer: StreamedRows<Row>) => Promise<void>,
  ): Promise<void> {
    const { incomplete, events } = await stream(what, query, signal)
    const folded = new FoldedRows(ROWS)
    for await (const event of events) {
      folded.take(event)
      if (event.event === 'error') return
      if (event.event === 'snapshot') budget.spend(Number(event.data['credits_used']))
      if (event.event !== 'tip') continue
      const rows = folded.rowsOf(scene.listing.id) as Row[]
      await show({ rows, isFirst: !received.has(what), incomplete })
      signal.throwIfAborted()
      received.add(what)
      receivedAt = performance.now()
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    const { asked, rowsOf } = candles.form(candleQuery(scene, ROWS))
    const { ticks: showTicks } = on
    const spending = setInterval(() => budget.spend(creditsAMinute), MINUTE_MS)
    try {
      await Promise.race([
        follow<Bodies['candles']['data'][number]>('candles', asked, signal, ({ rows, ...answer }) =>
          on.candles({ rows: rowsOf([...rows]), ...answer }, signal),
        ),
        ...(showTicks
          ? [follow<TickRow>('ticks', tickStreamQuery(scene), signal, (answer) => showTicks(answer, signal))]
          : []),
        hidden(signal),
      ])
    } finally {
      clearInterval(spending)
    }
  }

  return {
    isLive: () => received.size === creditsAMinute && performance.now() - receivedAt < SILENT_MS,
    tend(signal) {
      const isPaid = (budget.pauseMs(creditsAMinute) ?? Number.POSITIVE_INFINITY) <= MINUTE_MS
      if (!isPaid) open?.abort()
      if (!isPaid || open !== undefined || performance.now() < dueAt) return
      const one = new AbortController()
      open = one
      received = new Set()
      inFreeSlot(() => run(AbortSignal.any([signal, one.signal])))
        // A poll reports the error.
        .catch(() => undefined)
        .finally(() => {
          one.abort()
          open = undefined
          received = new Set()
          dueAt = performance.now() + POLLED_MS
        })
    },
  }
}

/** Without a slot nothing runs. */
async function inFreeSlot(work: () => Promise<void>): Promise<void> {
  // Browsers have locks only where a page came from this machine or by TLS.
  const locks: LockManager | undefined = navigator.locks
  for (const slot of locks === undefined ? [] : SLOTS) {
    const had = await locks.request(slot, { ifAvailable: true }, async (lock) => {
      if (lock !== null) await work()
      return lock !== null
    })
    if (had) return
  }
}

/** Resolves where the tab is hidden, or the signal aborts. */
function hidden(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = new AbortController()
    const end = () => {
      done.abort()
      resolve()
    }
    const look = () => document.hidden && end()
    document.addEventListener('visibilitychange', look, { signal: done.signal })
    signal.addEventListener('abort', end, { signal: done.signal })
    look()
  })
}
