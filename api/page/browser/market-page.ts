/// <reference lib="dom" />
/** The flow of the page: a key opens the market, a selection finds pools, a pool is followed until the next selection. */
import type { TokenFile } from '../tokens.ts'
import { showState } from './account/account.ts'
import { type CreditBudget, openCreditBudget } from './account/credit-budget.ts'
import {
  exchangeCode,
  forgetKey,
  keepKey,
  keptKey,
  NO_KEY_OF_ADDRESS,
  openKeyForm,
  takeFromAddress,
} from './account/key.ts'
import { hideNotice } from './account/notice.ts'
import { persist } from './account/persist.ts'
import { type PageAddress, readAddress, writeAddress } from './lib/address.ts'
import { openClient } from './lib/client.ts'
import { part } from './lib/dom.ts'
import { Refusal } from './lib/refusal.ts'
import { openZone } from './lib/zone.ts'
import { type Live, openLive } from './live-scene.ts'
import { type FoundPools, findPair, findPool } from './market/finding.ts'
import { isFlipped } from './market/orientation.ts'
import { openOverview } from './market/overview.ts'
import { openPicker } from './market/picker.ts'
import { openPools } from './market/pools.ts'
import { pairOf, pendingText, type Scene } from './market/scene.ts'
import { NOT_YET, type Offers, openOffers } from './offers.ts'
import { type CarriedData, carriedData } from './scene-data.ts'
import { openScreen } from './screen.ts'
import { openTools } from './tools.ts'

export function openMarketPage(tokens: TokenFile, taken: ReturnType<typeof takeFromAddress>): void {
  new MarketPage(tokens).enter(taken)
}

class MarketPage {
  readonly #tokens: TokenFile
  readonly #form: ReturnType<typeof openKeyForm>
  readonly #screen: ReturnType<typeof openScreen>
  readonly #picker: ReturnType<typeof openPicker>
  readonly #pools: ReturnType<typeof openPools>
  readonly #tools: ReturnType<typeof openTools>
  readonly #offers: Offers
  #session: (ReturnType<typeof openClient> & { purse: CreditBudget }) | undefined
  #running = new AbortController()
  #place = readAddress()
  /** The shown scene. */
  #live: Live | undefined
  /** The requested scene, until it is shown. */
  #wanted: Live | undefined

  constructor(tokens: TokenFile) {
    this.#tokens = tokens
    this.#form = openKeyForm((key) => {
      keepKey(key)
      this.#begin()
    })
    this.#screen = openScreen(() => this.#older())
    const pair = (pair: string) => this.#pick({ ...this.#place, pair, pool: undefined, network: undefined })
    const pool = (pool: string, network?: string) => this.#pick({ ...this.#place, pair: undefined, pool, network })
    this.#picker = openPicker({
      pair,
      pool,
      open: () => this.#offers.renew(this.#running.signal),
      token: (token) => this.#offers.pairsOf({ token }, this.#running.signal).catch(() => []),
    })
    const overview = openOverview({
      choose: (one) => (one.pool === undefined ? pair(one.pair) : pool(one.pool.id, one.pool.network)),
      renew: () => this.#offers.renew(this.#running.signal),
    })
    this.#offers = openOffers({
      ask: () => this.#session?.ask,
      tokens,
      offer: (suggestions, newest) => {
        this.#picker.offer(suggestions)
        overview.offer(suggestions, newest)
      },
      note: (text) => this.#screen.note(text),
    })
    this.#pools = openPools((listing) => {
      const before = this.#live?.held().scene
      const flipped = before !== undefined && isFlipped(pairOf(before), listing.tokens)
      const { interval, price } = this.#place
      this.#run((signal) => this.#follow({ listing, flipped, interval, price }, {}, signal))
    })
    this.#tools = openTools({
      interval: (interval) => this.#again({ interval }),
      price: (price) => this.#again({ price }),
      flip: () => {
        const scene = (this.#wanted ?? this.#live)?.held().scene
        if (scene) this.#again({ flipped: !scene.flipped })
      },
    })
    openZone(part('zone', HTMLButtonElement), () => {
      const held = this.#live?.held()
      if (held) this.#screen.rezone(held)
    })
    part('leave', HTMLButtonElement).addEventListener('click', () => this.#lock())
    // Another link was put into the address of the open page.
    window.addEventListener('hashchange', () => {
      const taken = takeFromAddress()
      this.#place = readAddress()
      this.enter(taken)
    })
  }

  /** By the code of the link; a tab that has a key keeps it where the code has expired. */
  enter({ code, hadKey }: ReturnType<typeof takeFromAddress>): void {
    void (async () => {
      const trouble = code === undefined ? undefined : await exchangeCode(code)
      if (keptKey() !== undefined) return this.#begin()
      this.#lock(trouble ?? (hadKey ? NO_KEY_OF_ADDRESS : undefined))
    })()
  }

  #older(): void {
    const { signal } = this.#running
    // The screen will show another scene soon.
    if (this.#wanted === undefined) this.#live?.older(signal).catch((error: unknown) => this.#fail(error, signal))
  }

  /** With the tab's key, or to the form. */
  #begin(): void {
    const key = keptKey()
    if (key === undefined) {
      this.#lock()
      return
    }
    const client = openClient(key)
    this.#session = { ...client, purse: openCreditBudget(client.ask) }
    this.#form.hide()
    unlock(true)
    this.#pick(this.#place)
  }

  #lock(trouble?: string): void {
    this.#running.abort()
    this.#live = undefined
    this.#wanted = undefined
    this.#session = undefined
    forgetKey()
    hideNotice()
    unlock(false)
    this.#form.show(trouble)
  }

  /** Ends the previous task. */
  #run(work: (signal: AbortSignal) => Promise<void>): void {
    this.#running.abort()
    this.#wanted = undefined
    this.#running = new AbortController()
    const { signal } = this.#running
    hideNotice()
    work(signal).catch((error: unknown) => this.#fail(error, signal))
  }

  #fail(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return
    if (!(error instanceof Refusal)) {
      this.#screen.note('Something went wrong in the page. Load it again.')
      throw error
    }
    if (error.kind === 'key') this.#lock('This key is not known here.')
    else if (error.kind === 'failures') this.#lock(error.message)
    else {
      this.#running.abort()
      this.#live = undefined
      this.#wanted = undefined
      this.#tools.show(this.#place.interval, this.#place.price)
      showState('idle')
      this.#screen.note(error.message)
    }
  }

  #pick(to: PageAddress): void {
    this.#place = to
    this.#tools.show(to.interval, to.price)
    this.#run(async (signal) => {
      if (this.#session === undefined) return
      const { ask } = this.#session
      this.#live = undefined
      this.#picker.show(to.pair ?? to.pool ?? '')
      this.#pools.show([], undefined)
      this.#screen.note('Loading …')
      showState('loading')
      const pair = to.pair ?? (to.pool === undefined ? await this.#offers.firstPair(signal) : '')
      if (to.pool === undefined) this.#picker.show(pair)
      const find = (): Promise<FoundPools> => {
        const { pool, network } = to
        if (pool === undefined) return findPair(ask, pair, signal)
        return findPool(ask, { pool, network, pair: to.pair }, this.#tokens, signal)
      }
      const found = await persist(find, signal, () => this.#screen.note(NOT_YET))
      this.#pools.show(found.listings, found.chosen)
      const flipped = isFlipped(found.pair, found.chosen.tokens)
      const { interval, price } = this.#place
      await this.#follow({ listing: found.chosen, flipped, interval, price }, {}, signal)
    })
  }

  /** The shown scene stays until the first candles of this one have arrived. */
  async #follow(scene: Scene, known: CarriedData, signal: AbortSignal): Promise<void> {
    if (this.#session === undefined) return
    const screen = this.#screen
    const on = {
      shown: () => {
        this.#live = next
        this.#wanted = undefined
        this.#remember(next.held().scene)
      },
      waiting: () => {
        if (this.#live === undefined) screen.note(NOT_YET)
        else screen.pending(pendingText(this.#live.held().scene, next.held().scene))
      },
    }
    const next: Live = openLive({ ...this.#session, parts: 'market', screen, on }, scene, known)
    this.#wanted = next
    if (this.#live !== undefined) this.#tools.want(scene.interval, scene.price)
    await next.run(signal)
  }

  #remember(scene: Scene): void {
    const { listing, interval, price } = scene
    this.#place = { pair: pairOf(scene), pool: listing.id, network: listing.network, interval, price }
    writeAddress(this.#place)
    this.#picker.show(pairOf(scene))
    this.#pools.choose(listing)
    this.#tools.show(interval, price)
  }

  /** Another view of the same pool: loaded data that is valid for it is kept. */
  #again(change: Partial<Pick<Scene, 'interval' | 'price' | 'flipped'>>): void {
    const before = (this.#wanted ?? this.#live)?.held().scene
    if (before === undefined) {
      const { interval = this.#place.interval, price = this.#place.price } = change
      this.#pick({ ...this.#place, interval, price })
      return
    }
    const scene = { ...before, ...change }
    this.#run((signal) => this.#follow(scene, carriedData(this.#live?.held(), scene), signal))
  }
}

function unlock(isOpen: boolean): void {
  for (const id of ['pickers', 'account', 'market']) part(id, HTMLElement).hidden = !isOpen
}
