/// <reference lib="dom" />
/** The flow of the page: a key opens the market, a selection finds pools, a pool is followed until the next selection. */
import type { TokenFile } from '../tokens.ts'
import { showState } from './account/account.ts'
import { type CreditBudget, openCreditBudget } from './account/credit-budget.ts'
import { exchangeCode, forgetKey, keepKey, keptKey, openKeyForm, takeFromAddress } from './account/key.ts'
import { hideNotice } from './account/notice.ts'
import { persist } from './account/persist.ts'
import { type PageAddress, readAddress, writeAddress } from './lib/address.ts'
import { openClient, type QueryApi } from './lib/client.ts'
import { part } from './lib/dom.ts'
import { Refusal } from './lib/refusal.ts'
import { pause } from './lib/wait.ts'
import { type CarriedData, carriedData, type Live, openLive } from './live-scene.ts'
import { type FoundPools, findPair, findPool } from './market/finding.ts'
import { isFlipped } from './market/orientation.ts'
import { openPicker } from './market/picker.ts'
import { openPools } from './market/pools.ts'
import { pairOf, pendingText, type Scene } from './market/scene.ts'
import { type Suggestion, suggestionsOf } from './market/suggestions.ts'
import { openScreen } from './screen.ts'
import { openTools } from './tools.ts'

export function openMarketPage(tokens: TokenFile, taken: ReturnType<typeof takeFromAddress>): void {
  let suggestions: readonly Suggestion[] = []
  let offeredAt = Number.NEGATIVE_INFINITY
  let session: { ask: QueryApi; purse: CreditBudget } | undefined
  let running = new AbortController()
  let place = readAddress()
  /** The shown scene. */
  let live: Live | undefined
  /** The requested scene, until it is shown. */
  let wanted: Live | undefined

  const form = openKeyForm((key) => {
    keepKey(key)
    begin()
  })
  const screen = openScreen(() => {
    const { signal } = running
    // The screen will show another scene soon.
    if (wanted === undefined) live?.older(signal).catch((error: unknown) => fail(error, signal))
  })
  const picker = openPicker({
    pair: (pair) => pick({ ...place, pair, pool: undefined, network: undefined }),
    pool: (pool, network) => pick({ ...place, pair: undefined, pool, network }),
    open() {
      if (performance.now() - offeredAt > OFFER_FRESH_MS) offer(running.signal).catch(keepList)
    },
    token: (token) => pairsOf({ token }, running.signal).catch(() => []),
  })
  const pools = openPools((listing) => {
    const before = live?.held().scene
    const flipped = before !== undefined && isFlipped(pairOf(before), listing.tokens)
    run((signal) => follow({ listing, flipped, interval: place.interval, price: place.price }, {}, signal))
  })
  const tools = openTools({
    interval: (interval) => again({ interval }),
    price: (price) => again({ price }),
    flip() {
      const scene = (wanted ?? live)?.held().scene
      if (scene) again({ flipped: !scene.flipped })
    },
  })
  part('leave', HTMLButtonElement).addEventListener('click', () => lock())
  // Another link was put into the address of the open page.
  window.addEventListener('hashchange', () => {
    const taken = takeFromAddress()
    place = readAddress()
    void enter(taken)
  })

  async function pairsOf(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly Suggestion[]> {
    if (session === undefined) return []
    const { body } = await session.ask('pairs', query, signal)
    return suggestionsOf(body.data, tokens.tokens)
  }

  async function offer(signal: AbortSignal): Promise<void> {
    suggestions = await pairsOf({}, signal)
    offeredAt = performance.now()
    picker.offer(suggestions)
  }

  /** The pair with most volume. An empty store is polled until it has one, at no cost. */
  async function firstPair(signal: AbortSignal): Promise<string> {
    for (;;) {
      await persist(
        () => offer(signal),
        signal,
        () => screen.note(NOT_YET),
      )
      const [first] = suggestions
      if (first !== undefined) return first.pair
      screen.note('No pool is stored here yet. The page looks again every few seconds.')
      showState('waiting', new Date(Date.now() + EMPTY_STORE_MS))
      await pause(EMPTY_STORE_MS, signal)
    }
  }

  /** By the code of the link; a tab that has a key keeps it where the code has expired. */
  async function enter({ code, hadKey }: ReturnType<typeof takeFromAddress>): Promise<void> {
    const trouble = code === undefined ? undefined : await exchangeCode(code)
    if (keptKey() !== undefined) return begin()
    lock(trouble ?? (hadKey ? 'Addresses stay in the history, so no key is taken from one. Paste it here.' : undefined))
  }

  /** With the tab's key, or to the form. */
  function begin(): void {
    const key = keptKey()
    if (key === undefined) {
      lock()
      return
    }
    const ask = openClient(key)
    session = { ask, purse: openCreditBudget(ask) }
    form.hide()
    unlock(true)
    pick(place)
  }

  function lock(trouble?: string): void {
    running.abort()
    live = undefined
    wanted = undefined
    session = undefined
    forgetKey()
    hideNotice()
    unlock(false)
    form.show(trouble)
  }

  function unlock(isOpen: boolean): void {
    for (const id of ['pickers', 'account', 'market']) part(id, HTMLElement).hidden = !isOpen
  }

  /** Ends the previous task. */
  function run(work: (signal: AbortSignal) => Promise<void>): void {
    running.abort()
    wanted = undefined
    running = new AbortController()
    const { signal } = running
    hideNotice()
    work(signal).catch((error: unknown) => fail(error, signal))
  }

  function fail(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return
    if (!(error instanceof Refusal)) {
      screen.note('Something went wrong in the page. Load it again.')
      throw error
    }
    if (error.kind === 'key') lock('This key is not known here.')
    else if (error.kind === 'failures') lock(error.message)
    else {
      running.abort()
      live = undefined
      wanted = undefined
      tools.show(place.interval, place.price)
      showState('idle')
      screen.note(error.message)
    }
  }

  function pick(to: PageAddress): void {
    place = to
    tools.show(place.interval, place.price)
    run(async (signal) => {
      if (session === undefined) return
      const { ask } = session
      live = undefined
      picker.show(to.pair ?? to.pool ?? '')
      pools.show([], undefined)
      screen.note('Loading …')
      showState('loading')
      const pair = to.pair ?? (to.pool === undefined ? await firstPair(signal) : '')
      if (to.pool === undefined) picker.show(pair)
      const find = (): Promise<FoundPools> => {
        const { pool, network } = to
        if (pool === undefined) return findPair(ask, pair, signal)
        return findPool(ask, { pool, network, pair: to.pair }, tokens, signal)
      }
      const found = await persist(find, signal, () => screen.note(NOT_YET))
      pools.show(found.listings, found.chosen)
      const flipped = isFlipped(found.pair, found.chosen.tokens)
      await follow({ listing: found.chosen, flipped, interval: place.interval, price: place.price }, {}, signal)
    })
  }

  /** The shown scene stays until the first candles of this one have arrived. */
  async function follow(scene: Scene, known: CarriedData, signal: AbortSignal): Promise<void> {
    if (session === undefined) return
    const next = openLive(
      {
        ...session,
        screen,
        on: {
          shown() {
            live = next
            wanted = undefined
            remember(next.held().scene)
          },
          waiting() {
            if (live === undefined) screen.note(NOT_YET)
            else screen.pending(pendingText(live.held().scene, next.held().scene))
          },
        },
      },
      scene,
      known,
    )
    wanted = next
    want(scene)
    await next.run(signal)
  }

  function want({ interval, price }: Scene): void {
    if (live !== undefined) tools.want(interval, price)
  }

  function remember(scene: Scene): void {
    const { listing, interval, price } = scene
    place = { pair: pairOf(scene), pool: listing.id, network: listing.network, interval, price }
    writeAddress(place)
    picker.show(pairOf(scene))
    pools.choose(listing)
    tools.show(interval, price)
  }

  /** Another view of the same pool: loaded data that is valid for it is kept. */
  function again(change: Partial<Pick<Scene, 'interval' | 'price' | 'flipped'>>): void {
    const before = (wanted ?? live)?.held().scene
    if (before === undefined)
      pick({ ...place, interval: change.interval ?? place.interval, price: change.price ?? place.price })
    else {
      const scene = { ...before, ...change }
      run((signal) => follow(scene, carriedData(live?.held(), scene), signal))
    }
  }

  void enter(taken)
}

const OFFER_FRESH_MS = 60_000
const EMPTY_STORE_MS = 5_000

/** An older list of pools is better than none. */
function keepList(): void {}

const NOT_YET = 'Nothing is loaded yet. It follows by itself.'
