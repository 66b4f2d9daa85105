/// <reference lib="dom" />
/** The flow of the embedded chart: a key and the pool of the address, followed until the address or the key changes. */
import type { TokenFile } from '../tokens.ts'
import { showState } from './account/account.ts'
import { openCreditBudget } from './account/credit-budget.ts'
import { forgetKey, keepKey, keptKey, NO_KEY_OF_ADDRESS, openKeyForm, takeFromAddress } from './account/key.ts'
import { hideNotice } from './account/notice.ts'
import { persist } from './account/persist.ts'
import { isFramed, type PostedKey } from './account/posted-key.ts'
import { type ChartPanel, openChartPanel } from './chart-panel.ts'
import { fragmentOf, readAddress } from './lib/address.ts'
import { openClient } from './lib/client.ts'
import { part } from './lib/dom.ts'
import { title } from './lib/format.ts'
import { Refusal } from './lib/refusal.ts'
import { pause } from './lib/wait.ts'
import { type Live, openLive } from './live-scene.ts'
import { findPlace } from './market/finding.ts'
import { isFlipped } from './market/orientation.ts'
import { pairOf, type Scene } from './market/scene.ts'
import { NOT_YET, openOffers } from './offers.ts'

/** The page around posts its key when the frame has loaded; the form is shown where none has come by then. */
const POSTED_MS = 1_000

export function openEmbedPage(tokens: TokenFile, posted: PostedKey, hadKey: boolean): void {
  const page = new EmbedPage(tokens)
  posted.take((key) => page.enter(key))
  void page.enterAlone(hadKey)
}

class EmbedPage {
  readonly #tokens: TokenFile
  readonly #form: ReturnType<typeof openKeyForm>
  readonly #panel: ChartPanel
  #key: string | undefined
  #running = new AbortController()
  #live: Live | undefined

  constructor(tokens: TokenFile) {
    this.#tokens = tokens
    this.#form = openKeyForm((key) => {
      keepKey(key)
      this.enter(key)
    })
    this.#panel = openChartPanel(() => this.#older())
    window.addEventListener('hashchange', () => {
      takeFromAddress()
      if (this.#key !== undefined) this.#begin(this.#key)
    })
  }

  /** With a key that was posted or typed. */
  enter(key: string): void {
    if (key !== this.#key) this.#begin(key)
  }

  /** With the key of the tab, or to the form where no key is posted. */
  async enterAlone(hadKey: boolean): Promise<void> {
    const kept = keptKey()
    if (this.#key === undefined && kept !== undefined) this.#begin(kept)
    if (isFramed()) await pause(POSTED_MS, this.#running.signal).catch(() => undefined)
    if (this.#key === undefined && !this.#running.signal.aborted) this.#lock(hadKey ? NO_KEY_OF_ADDRESS : undefined)
  }

  #older(): void {
    const { signal } = this.#running
    this.#live?.older(signal).catch((error: unknown) => this.#fail(error, signal))
  }

  #begin(key: string): void {
    this.#running.abort()
    this.#running = new AbortController()
    this.#key = key
    this.#live = undefined
    hideNotice()
    this.#form.hide()
    unlock(true)
    const { signal } = this.#running
    this.#follow(key, signal).catch((error: unknown) => this.#fail(error, signal))
  }

  #lock(trouble?: string): void {
    this.#running.abort()
    this.#live = undefined
    if (keptKey() === this.#key) forgetKey()
    this.#key = undefined
    hideNotice()
    unlock(false)
    this.#form.show(trouble)
  }

  #fail(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return
    if (!(error instanceof Refusal)) {
      this.#panel.note('Something went wrong in the chart. Load it again.')
      throw error
    }
    if (error.kind === 'key') this.#lock('This key is not known here.')
    else if (error.kind === 'failures') this.#lock(error.message)
    else {
      this.#running.abort()
      showState('idle')
      this.#panel.note(error.message)
    }
  }

  async #follow(key: string, signal: AbortSignal): Promise<void> {
    const { ask, stream } = openClient(key)
    const panel = this.#panel
    const place = readAddress()
    panel.note('Loading …')
    this.#name(place.pair ?? 'Candlepool', fragmentOf(place))
    showState('loading')
    const note = (text: string) => panel.note(text)
    const budget = openCreditBudget(ask)
    const offers = openOffers({ source: () => ({ ask, budget }), tokens: this.#tokens, offer: () => undefined, note })
    const find = () => findPlace(ask, place, this.#tokens, offers.firstPair, signal)
    const found = await persist(find, signal, () => panel.note(NOT_YET))
    const { interval, price } = place
    const scene = { listing: found.chosen, flipped: isFlipped(found.pair, found.chosen.tokens), interval, price }
    const live = openLive(
      {
        ask,
        stream,
        budget,
        parts: 'chart',
        screen: panel,
        on: {
          shown: () => {
            this.#live = live
            this.#show(scene)
          },
          waiting: () => {
            if (this.#live === undefined) panel.note(NOT_YET)
          },
        },
      },
      scene,
      {},
    )
    await live.run(signal)
  }

  #show(scene: Scene): void {
    const { listing, interval, price } = scene
    const pair = pairOf(scene)
    const place = { pair, pool: listing.id, network: listing.network, interval, price }
    this.#name(`${pair} ${interval}, ${title(listing.network)}`, fragmentOf(place))
  }

  /** The link has the path of this service and a fragment that names pool and interval alone. */
  #name(text: string, fragment: string): void {
    part('title', HTMLElement).textContent = text
    part('full', HTMLAnchorElement).href = `/#${fragment}`
  }
}

function unlock(isOpen: boolean): void {
  for (const id of ['state', 'market']) part(id, HTMLElement).hidden = !isOpen
}
