/// <reference lib="dom" />
/** What happens when: a key opens the market, a pick finds pools, a pool is followed until another one is picked. */
import type { TokenFile } from '../tokens.ts'
import { showState } from './account.ts'
import { type Ask, openClient } from './client.ts'
import { part } from './dom.ts'
import { type Found, findPair, findPool } from './finding.ts'
import { exchangeCode, forgetKey, keepKey, keptKey, openKeyForm, takeFromAddress } from './key.ts'
import { type Known, type Live, openLive } from './live.ts'
import { hideNotice } from './notice.ts'
import { isFlipped } from './orientation.ts'
import { persist } from './persist.ts'
import { openPicker } from './picker.ts'
import { type Place, placeInAddress, showPlace } from './place.ts'
import { openPools } from './pools.ts'
import { openPurse, type Purse } from './purse.ts'
import { Refusal } from './refusal.ts'
import { pairOf, type Scene } from './scene.ts'
import { openScreen } from './screen.ts'
import { suggestionsOf } from './suggestions.ts'
import { openTools } from './tools.ts'

export function openMarketPage(tokens: TokenFile, taken: ReturnType<typeof takeFromAddress>): void {
  const suggestions = suggestionsOf(tokens)
  let session: { ask: Ask; purse: Purse } | undefined
  let running = new AbortController()
  let place = placeInAddress()
  let live: Live | undefined

  const form = openKeyForm((key) => {
    keepKey(key)
    begin()
  })
  const screen = openScreen(() => {
    const { signal } = running
    live?.older(signal).catch((error: unknown) => fail(error, signal))
  })
  const picker = openPicker(suggestions, {
    pair: (pair) => pick({ ...place, pair, pool: undefined, network: undefined }),
    pool: (pool) => pick({ ...place, pair: undefined, pool, network: undefined }),
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
      live?.flip()
      if (live) remember(live.held().scene)
    },
  })
  part('leave', HTMLButtonElement).addEventListener('click', () => lock())
  // Somebody puts another link into the address of the open page.
  window.addEventListener('hashchange', () => {
    const taken = takeFromAddress()
    place = placeInAddress()
    void enter(taken)
  })

  /** By the code of the link; a tab that has a key already keeps it where the code is good no more. */
  async function enter({ code, hadKey }: ReturnType<typeof takeFromAddress>): Promise<void> {
    const trouble = code === undefined ? undefined : await exchangeCode(code)
    if (keptKey() !== undefined) return begin()
    lock(trouble ?? (hadKey ? 'Addresses stay in the history, so no key is taken from one. Paste it here.' : undefined))
  }

  /** With the key that the tab has, or to the form. */
  function begin(): void {
    const key = keptKey()
    if (key === undefined) {
      lock()
      return
    }
    const ask = openClient(key)
    session = { ask, purse: openPurse(ask) }
    form.hide()
    unlock(true)
    pick(place)
  }

  function lock(trouble?: string): void {
    running.abort()
    live = undefined
    session = undefined
    forgetKey()
    hideNotice()
    unlock(false)
    form.show(trouble)
  }

  function unlock(isOpen: boolean): void {
    for (const id of ['pickers', 'account', 'market']) part(id, HTMLElement).hidden = !isOpen
  }

  /** One thing at a time: what was going on ends. */
  function run(work: (signal: AbortSignal) => Promise<void>): void {
    running.abort()
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
      showState('idle')
      screen.note(error.message)
    }
  }

  function pick(wanted: Place): void {
    place = wanted
    tools.show(place.interval, place.price)
    run(async (signal) => {
      if (session === undefined) return
      const { ask } = session
      live = undefined
      const pair = wanted.pair ?? suggestions[0]?.pair ?? 'ETH-USDC'
      picker.show(wanted.pool === undefined ? pair : (wanted.pair ?? wanted.pool))
      pools.show([], undefined)
      screen.note('Loading …')
      showState('loading')
      const found: Found = await persist(() => {
        const { pool, network } = wanted
        if (pool === undefined) return findPair(ask, pair, signal)
        return findPool(ask, { pool, network, pair: wanted.pair }, tokens, signal)
      }, signal)
      pools.show(found.listings, found.chosen)
      const flipped = isFlipped(found.pair, found.chosen.tokens)
      await follow({ listing: found.chosen, flipped, interval: place.interval, price: place.price }, {}, signal)
    })
  }

  async function follow(scene: Scene, known: Known, signal: AbortSignal): Promise<void> {
    if (session === undefined) return
    remember(scene)
    live = openLive({ ...session, screen }, scene, known)
    await live.run(signal)
  }

  function remember(scene: Scene): void {
    const { listing, interval, price } = scene
    place = { pair: pairOf(scene), pool: listing.id, network: listing.network, interval, price }
    showPlace(place)
    picker.show(pairOf(scene))
    tools.show(interval, price)
  }

  /** The same pool, otherwise asked: what still holds is kept. */
  function again(change: Partial<Pick<Scene, 'interval' | 'price'>>): void {
    place = { ...place, ...change }
    tools.show(place.interval, place.price)
    if (live === undefined) return
    const { scene, rows, ticks, dayVolume } = live.held()
    // Trades have a price of their own kind too.
    const known = change.price === undefined && rows.length > 0 ? { ticks, dayVolume } : { dayVolume }
    run((signal) => follow({ ...scene, ...change }, known, signal))
  }

  void enter(taken)
}
