/// <reference lib="dom" />
/** The flow of the page: a key opens the market, a selection finds pools, a pool is followed until the next selection. */
import type { TokenFile } from '../tokens.ts'
import { showState } from './account/account.ts'
import { type CreditBudget, openCreditBudget } from './account/credit-budget.ts'
import { type Door, openDoor } from './account/door.ts'
import { type TakenCode, takeFromAddress } from './account/key.ts'
import { hideNotice } from './account/notice.ts'
import { persist } from './account/persist.ts'
import { type Choice, openChoice } from './choice.ts'
import { type PageAddress, readAddress, writeAddress } from './lib/address.ts'
import { openClient } from './lib/client.ts'
import { part } from './lib/dom.ts'
import { Refusal } from './lib/refusal.ts'
import { openZone } from './lib/zone.ts'
import { type Live, openLive } from './live-scene.ts'
import { type FoundPools, findPlace } from './market/finding.ts'
import { isFlipped } from './market/orientation.ts'
import { openPools } from './market/pools.ts'
import { pairOf, pendingText, type Scene, sceneText } from './market/scene.ts'
import { NOT_YET } from './offers.ts'
import { type CarriedData, carriedData } from './scene-data.ts'
import { openScreen } from './screen.ts'
import { openTools } from './tools.ts'

export function openMarketPage(tokens: TokenFile, taken: TakenCode): void {
  new MarketPage(tokens).enter(taken)
}

/** `isReversed`: the found pair is shown in the direction opposite to the named one. */
type Search = { stop: AbortController; isReversed: boolean }

class MarketPage {
  readonly #tokens: TokenFile
  readonly #door: Door
  readonly #screen: ReturnType<typeof openScreen>
  readonly #choice: Choice
  readonly #pools: ReturnType<typeof openPools>
  readonly #tools: ReturnType<typeof openTools>
  #session: (ReturnType<typeof openClient> & { key: string; budget: CreditBudget }) | undefined
  /** Aborted where the key is left. */
  #leaving = new AbortController()
  #running = new AbortController()
  /** A search for the pool of `#place`; meanwhile the shown scene stays live. */
  #finding: Search | undefined
  /** The requested place. */
  #place = readAddress()
  /** The shown scene. */
  #live: Live | undefined
  /** The requested scene, until it is shown. */
  #wanted: Live | undefined

  constructor(tokens: TokenFile) {
    this.#tokens = tokens
    this.#door = openDoor({
      key: (key) => this.#begin(key),
      locked: () => this.#stop(),
    })
    this.#screen = openScreen(() => this.#older())
    this.#choice = openChoice({
      source: () => this.#session,
      signal: () => this.#leaving.signal,
      tokens,
      note: (text) => this.#screen.note(text),
      pair: (pair) => this.#pick({ ...this.#place, pair, pool: undefined, network: undefined }),
      pool: (pool, network) => this.#pick({ ...this.#place, pair: undefined, pool, network }),
    })
    this.#pools = openPools((listing) => {
      const before = this.#live?.data().scene
      const flipped = before !== undefined && isFlipped(pairOf(before), listing.tokens)
      const { interval, price } = this.#place
      this.#screen.refuse('')
      this.#run((signal) => this.#follow({ listing, flipped, interval, price }, {}, signal))
    })
    this.#tools = openTools({
      interval: (interval) => this.#again({ interval }),
      price: (price) => this.#again({ price }),
      flip: () => {
        const scene = (this.#wanted ?? this.#live)?.data().scene
        if (scene) this.#again({ flipped: !scene.flipped })
      },
    })
    openZone(part('zone', HTMLButtonElement), () => {
      const shown = this.#live?.data()
      if (shown) this.#screen.rezone(shown)
    })
    // Another link was put into the address of the open page.
    window.addEventListener('hashchange', () => {
      const taken = takeFromAddress()
      this.#place = readAddress()
      this.enter(taken)
    })
  }

  enter(taken: TakenCode): void {
    this.#door.enter(taken)
  }

  #older(): void {
    const { signal } = this.#running
    // The screen will show another scene soon.
    if (this.#wanted === undefined) this.#live?.older(signal).catch((error: unknown) => this.#fail(error, signal))
  }

  #begin(key: string): void {
    if (key !== this.#session?.key) {
      this.#stop()
      const client = openClient(key)
      this.#session = { ...client, key, budget: openCreditBudget(client.ask) }
    }
    this.#pick(this.#place)
  }

  #stop(): void {
    this.#leaving.abort()
    this.#leaving = new AbortController()
    this.#finding?.stop.abort()
    this.#running.abort()
    this.#live = undefined
    this.#wanted = undefined
    this.#session = undefined
  }

  /** Ends the previous task. */
  #run(work: (signal: AbortSignal) => Promise<void>): void {
    this.#finding?.stop.abort()
    this.#finding = undefined
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
    if (error.kind === 'key') this.#door.lock('This key is not known here.')
    else if (error.kind === 'failures') this.#door.lock(error.message)
    else if (this.#fallBack(signal)) this.#screen.refuse(error.message)
    else {
      this.#running.abort()
      this.#live = undefined
      this.#tools.show(this.#place.interval, this.#place.price)
      showState('idle')
      this.#screen.refuse('')
      this.#screen.note(error.message)
    }
  }

  /** After a refusal the shown scene stays; without one, the first pair is shown. False if that pair is refused as well. */
  #fallBack(signal: AbortSignal): boolean {
    const shown = this.#live?.data()
    const { pair, pool } = this.#place
    const [isSearch, isLoading] = [signal === this.#finding?.stop.signal, this.#wanted !== undefined]
    if (isSearch) this.#finding = undefined
    if (isSearch && isLoading) return true
    this.#wanted = undefined
    if (isSearch && shown !== undefined) this.#remember(shown.scene)
    else if (isLoading && shown !== undefined) {
      // Refused again, it is not requested a third time.
      this.#live = undefined
      this.#run((signal) => this.#follow(shown.scene, carriedData(shown, shown.scene), signal))
    } else if (shown === undefined && (pair ?? pool) !== undefined)
      this.#pick({ ...this.#place, pair: undefined, pool: undefined, network: undefined })
    else return false
    return true
  }

  #pick(to: PageAddress, isReversed = false): void {
    if (this.#session === undefined) return
    const { ask } = this.#session
    const named = to.pair ?? to.pool ?? ''
    this.#place = to
    this.#finding?.stop.abort()
    const search: Search = { stop: new AbortController(), isReversed }
    this.#finding = search
    const { signal } = search.stop
    this.#choice.show(named)
    this.#screen.refuse('')
    if (this.#live === undefined) {
      this.#tools.show(to.interval, to.price)
      this.#pools.show([], undefined)
      this.#screen.note('Loading …')
      showState('loading')
    } else this.#tools.want(to.interval, to.price)
    const find = () => findPlace(ask, to, this.#tokens, this.#choice.firstPair, signal)
    persist(find, signal, () => this.#wait(named))
      .then(({ pair, listings, chosen }) => {
        signal.throwIfAborted()
        const flipped = isFlipped(pair, chosen.tokens) !== search.isReversed
        const { interval, price } = to
        this.#run((signal) => this.#follow({ listing: chosen, flipped, interval, price }, {}, signal, listings))
      })
      .catch((error: unknown) => this.#fail(error, signal))
  }

  /** `wanted` has not arrived yet. */
  #wait(wanted: string): void {
    if (this.#live === undefined) this.#screen.note(NOT_YET)
    else this.#screen.pending(pendingText(this.#live.data().scene, wanted))
  }

  /** The shown scene stays until the first candles of this one have arrived. `listings`: other pools to choose from. */
  async #follow(
    scene: Scene,
    known: CarriedData,
    signal: AbortSignal,
    listings?: FoundPools['listings'],
  ): Promise<void> {
    if (this.#session === undefined) return
    const screen = this.#screen
    const on = {
      shown: () => {
        this.#live = next
        this.#wanted = undefined
        if (listings) this.#pools.show(listings, scene.listing)
        this.#remember(next.data().scene)
      },
      waiting: () => this.#wait(sceneText(next.data().scene)),
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
    this.#choice.show(pairOf(scene))
    this.#pools.choose(listing)
    this.#tools.show(interval, price)
  }

  /** Another view of the same pool: loaded data that is valid for it is kept. */
  #again(change: Partial<Pick<Scene, 'interval' | 'price' | 'flipped'>>): void {
    // The search does not know the pool's tokens yet: the pair is flipped once they are found.
    if (this.#finding && change.flipped !== undefined) {
      this.#finding.isReversed = !this.#finding.isReversed
      return
    }
    const before = (this.#wanted ?? this.#live)?.data().scene
    if (before === undefined || this.#finding !== undefined) {
      const { interval = this.#place.interval, price = this.#place.price } = change
      this.#pick({ ...this.#place, interval, price }, this.#finding?.isReversed)
      return
    }
    const scene = { ...before, ...change }
    this.#screen.refuse('')
    this.#run((signal) => this.#follow(scene, carriedData(this.#live?.data(), scene), signal))
  }
}
