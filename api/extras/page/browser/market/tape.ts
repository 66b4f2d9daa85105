/// <reference lib="dom" />
/** The newest trades, newest first. */
import { make, part } from '../lib/dom.ts'
import { amountText, clockText, decimalsOf, dollarText, priceText, timeText } from '../lib/format.ts'
import { isUtc, zoneName } from '../lib/zone.ts'
import { transactionLink } from './explorer.ts'
import { flipTick, type TickRow } from './orientation.ts'

const MAX_TICKS = 100
/** A new trade is raised for so long, without a transition: that would have the browser draw the page 60 times a second. */
const NEW_MS = 1_200

/** `from`: start of the request; trades from there on are replaced by the answer, because a reorg may undo trades. */
export function joinedTicks(loaded: readonly TickRow[], page: readonly TickRow[], from: string | undefined) {
  if (from === undefined || page.length >= MAX_TICKS) return page
  const start = Date.parse(from)
  return [...loaded.filter(({ timestamp }) => Date.parse(timestamp) < start), ...page].slice(-MAX_TICKS)
}

/** Whether an answer contains the newest loaded trade: otherwise it was undone, the chain is another one, or later trades fill the answer. */
export function hasNewest(loaded: readonly TickRow[], page: readonly TickRow[]): boolean {
  const newest = loaded.at(-1)
  if (newest === undefined) return true
  return page.some(
    ({ id, timestamp, price }) => id === newest.id && timestamp === newest.timestamp && price === newest.price,
  )
}

export type Tape = {
  /** Ascending, in the pool's own order. `network` is undefined where no explorer has the trades. */
  show(ticks: readonly TickRow[], flipped: boolean, network: string | undefined): void
  /** Text in place of trades. */
  note(text: string): void
}

export function openTape(): Tape {
  const body = part('ticks', HTMLTableSectionElement)
  const state = part('tape-state', HTMLElement)
  const amountTitle = part('amount-title', HTMLElement)
  const sides = part('sides', HTMLElement)
  let rows = new Map<string, { shape: string; row: HTMLTableRowElement }>()

  return {
    show(ticks, flipped, network) {
      const newest = ticks.slice(-MAX_TICKS).toReversed()
      const decimals = decimalsOf(shown(newest[0], flipped)?.price ?? 1)
      const first = shown(newest[0], flipped)
      amountTitle.textContent = first === undefined ? 'Amount' : `Amount, ${first.token0}`
      const isFirstShow = rows.size === 0
      const next: typeof rows = new Map()
      for (const tick of newest) {
        // A trade may return with other amounts after a reorg.
        const shape = `${flipped} ${tick.price} ${tick.amount0} ${tick.timestamp} ${decimals} ${isUtc()}`
        const known = rows.get(tick.id)
        const row = known?.shape === shape ? known.row : toRow(flipped ? flipTick(tick) : tick, decimals, network)
        if (known === undefined && !isFirstShow) raise(row)
        next.set(tick.id, { shape, row })
      }
      rows = next
      body.replaceChildren(...[...rows.values()].map(({ row }) => row))
      const buys = newest.filter((tick) => shown(tick, flipped)?.side === 'buy').length
      sides.textContent = newest.length === 0 ? '' : `${buys} bought, ${newest.length - buys} sold`
      state.hidden = newest.length > 0
      state.textContent = 'No trade in the last hour'
    },
    note(text) {
      rows = new Map()
      body.replaceChildren()
      sides.textContent = ''
      state.hidden = false
      state.textContent = text
    },
  }
}

function raise(row: HTMLTableRowElement): void {
  row.classList.add('new')
  setTimeout(() => row.classList.remove('new'), NEW_MS)
}

function shown(tick: TickRow | undefined, flipped: boolean): TickRow | undefined {
  return tick !== undefined && flipped ? flipTick(tick) : tick
}

function toRow(tick: TickRow, decimals: number, network: string | undefined): HTMLTableRowElement {
  const at = new Date(tick.timestamp)
  const amount = Math.abs(Number(tick.amount0))
  const link = network === undefined ? undefined : transactionLink(network, tick.id)
  return make(
    'tr',
    { class: tick.side },
    make('td', { title: `${timeText(at.getTime() / 1_000)} ${zoneName(at)}` }, clockText(at)),
    make('td', { class: 'side' }, tick.side === 'buy' ? 'Buy' : 'Sell'),
    make('td', { class: 'number', title: String(tick.price) }, priceText(tick.price, decimals)),
    make(
      'td',
      { class: 'number', title: `${tick.amount0} ${tick.token0}, ${tick.amount1} ${tick.token1}` },
      amountText(amount),
    ),
    make('td', { class: 'number' }, dollarText(tick.amountUSD)),
    make(
      'td',
      { class: 'link' },
      link === undefined
        ? ''
        : make(
            'a',
            { href: link, target: '_blank', rel: 'noreferrer', 'aria-label': `Transaction ${tick.id.slice(0, 10)}` },
            '↗',
          ),
    ),
  )
}
