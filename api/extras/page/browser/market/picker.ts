/// <reference lib="dom" />
/** The field for a pair or a pool's id, with suggestions: a combobox after the ARIA practices. */
import { make, part, say } from '../lib/dom.ts'
import { changeText, decimalsOf, dollarText, priceText } from '../lib/format.ts'
import { hyphenated } from './orientation.ts'
import { matching, nearest, type Suggestion } from './suggestions.ts'

export type Picker = {
  show(pair: string): void
  /** Replaces the suggestions. */
  offer(suggestions: readonly Suggestion[]): void
}

const POOL = /^0x(?:[0-9a-f]{40}|[0-9a-f]{64})$/i
const ADDRESS = /^0x[0-9a-f]{40}$/i
/** Letters of an input that a text repeats. */
const MAX_SHOWN = 24

export type PickerEvents = {
  pair(pair: string): void
  pool(id: string, network?: string): void
  /** The list was opened: checks for a newer one. */
  open(): void
  /** Pairs of a token that the list does not have. */
  token(address: string): Promise<readonly Suggestion[]>
}

export function openPicker(on: PickerEvents): Picker {
  return new PairPicker(on)
}

class PairPicker implements Picker {
  readonly #on: PickerEvents
  readonly #input = part('pair', HTMLInputElement)
  readonly #popup = part('offers', HTMLElement)
  readonly #list = part('pairs', HTMLElement)
  readonly #none = part('pairs-none', HTMLElement)
  #suggestions: readonly Suggestion[] = []
  #shown = ''
  #options: readonly { suggestion: Suggestion; item: HTMLElement }[] = []
  /** The options are names near the input, which Enter does not choose by itself. */
  #areNear = false
  #active = -1
  #isTyping = false

  constructor(on: PickerEvents) {
    this.#on = on
    this.#input.addEventListener('focus', () => {
      this.#input.select()
      this.#on.open()
    })
    this.#input.addEventListener('click', () => this.#openAll())
    this.#input.addEventListener('input', () => this.#onInput())
    this.#input.addEventListener('blur', () => {
      this.#close()
      this.#input.value = this.#shown
    })
    this.#input.addEventListener('keydown', (event) => this.#onKey(event))
  }

  show(pair: string): void {
    this.#shown = pair
    if (!this.#isTyping) this.#input.value = pair
  }

  offer(newer: readonly Suggestion[]): void {
    this.#suggestions = newer
    if ((this.#isTyping || !this.#popup.hidden) && this.#active === -1)
      this.#open(this.#isTyping ? this.#input.value : '')
  }

  #onInput(): void {
    this.#isTyping = true
    this.#open(this.#input.value)
    const address = this.#input.value.trim()
    if ((this.#options.length > 0 && !this.#areNear) || !ADDRESS.test(address)) return
    void this.#on.token(address).then((found) => {
      if (this.#input.value.trim() === address && this.#isTyping && found.length > 0) this.#showList(found)
    })
  }

  #onKey(event: KeyboardEvent): void {
    const isOpen = !this.#list.hidden
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1
      if (isOpen) this.#activate((this.#active + step + this.#options.length) % Math.max(1, this.#options.length))
      else this.#openAll()
    } else if (event.key === 'Enter') this.#enter(isOpen ? this.#options[this.#active]?.suggestion : undefined)
    else if (event.key === 'Escape') {
      this.#input.value = this.#shown
      this.#close()
    } else return
    event.preventDefault()
  }

  /** The marked suggestion, or the exact input, or its best match. */
  #enter(marked: Suggestion | undefined): void {
    const text = hyphenated(this.#input.value)
    const exact = this.#suggestions.find(({ pair }) => pair.toUpperCase() === text.toUpperCase())
    const best = marked ?? exact ?? (this.#areNear ? undefined : this.#options[0]?.suggestion)
    if (best !== undefined) this.#choose(best)
    else if (text !== '') this.#ask(text)
  }

  #ask(text: string): void {
    this.#close()
    if (POOL.test(text)) this.#on.pool(text.toLowerCase())
    else this.#on.pair(text)
  }

  #choose({ pair, pool }: Suggestion): void {
    this.#close()
    if (pool === undefined) this.#on.pair(pair)
    else this.#on.pool(pool.id, pool.network)
  }

  #openAll(): void {
    this.#on.open()
    this.#open('')
  }

  #open(text: string): void {
    const found = matching(this.#suggestions, text)
    if (found.length > 0 || this.#suggestions.length === 0) this.#showList(found)
    else this.#showNear(text.trim())
  }

  #showNear(text: string): void {
    const near = nearest(this.#suggestions, text)
    const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
    const then = near.length > 0 ? 'Near it:' : 'Enter searches all pools.'
    this.#showList(near, `No listed pair matches ${shown}. ${then}`)
    say(
      `No listed pair matches ${shown}. ${near.length > 0 ? `Near it: ${near.map(({ pair }) => pair).join(', ')}` : then}`,
    )
  }

  /** `none`: text where nothing matches, over names that are near. */
  #showList(found: readonly Suggestion[], none = ''): void {
    this.#areNear = none !== ''
    this.#options = found.map((suggestion, index) => {
      const item = toItem(suggestion, index)
      // The field keeps the focus; otherwise the list closes before the click.
      item.addEventListener('pointerdown', (event) => event.preventDefault())
      item.addEventListener('click', () => this.#choose(suggestion))
      return { suggestion, item }
    })
    this.#list.replaceChildren(...this.#options.map(({ item }) => item))
    this.#list.hidden = this.#options.length === 0
    this.#none.hidden = none === ''
    this.#none.textContent = none
    this.#popup.hidden = this.#list.hidden && this.#none.hidden
    this.#input.setAttribute('aria-expanded', String(!this.#list.hidden))
    this.#activate(-1)
  }

  #close(): void {
    this.#isTyping = false
    this.#showList([])
  }

  #activate(index: number): void {
    this.#active = index
    for (const [at, { item }] of this.#options.entries()) item.setAttribute('aria-selected', String(at === index))
    const item = this.#options[index]?.item
    this.#input.removeAttribute('aria-activedescendant')
    if (item === undefined) return
    this.#input.setAttribute('aria-activedescendant', item.id)
    item.scrollIntoView({ block: 'nearest' })
  }
}

function toItem({ pair, names, price, change, volumeUsd, valueUsd }: Suggestion, index: number): HTMLElement {
  const changed = change === undefined ? '' : changeText(change)
  return make(
    'div',
    { role: 'option', id: `pair-${index}`, 'aria-selected': 'false' },
    make('strong', {}, pair),
    make('span', { class: 'now' }, price === undefined ? '–' : priceText(price, decimalsOf(price))),
    make('span', {}, names),
    make(
      'span',
      {},
      make('span', { class: (change ?? 0) < 0 ? 'down' : 'up' }, changed),
      ` 24 h vol. ${dollarText(volumeUsd)}, holds ${dollarText(valueUsd)}`,
    ),
  )
}
