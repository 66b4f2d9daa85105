/// <reference lib="dom" />
/** The field for a pair or a pool's id, with suggestions: a combobox after the ARIA practices. */
import { make, part } from '../lib/dom.ts'
import { decimalsOf, dollarText, priceText } from '../lib/format.ts'
import { matching, type Suggestion } from './suggestions.ts'

export type Picker = {
  show(pair: string): void
  /** Replaces the suggestions. */
  offer(suggestions: readonly Suggestion[]): void
}

const POOL = /^0x(?:[0-9a-f]{40}|[0-9a-f]{64})$/i
const ADDRESS = /^0x[0-9a-f]{40}$/i

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
  readonly #list = part('pairs', HTMLElement)
  #suggestions: readonly Suggestion[] = []
  #shown = ''
  #options: readonly { suggestion: Suggestion; item: HTMLElement }[] = []
  #active = -1
  #isTyping = false

  constructor(on: PickerEvents) {
    this.#on = on
    this.#input.addEventListener('focus', () => this.#input.select())
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
    if (!this.#list.hidden && this.#active === -1) this.#open(this.#isTyping ? this.#input.value : '')
  }

  #onInput(): void {
    this.#isTyping = true
    this.#open(this.#input.value)
    const address = this.#input.value.trim()
    if (this.#options.length > 0 || !ADDRESS.test(address)) return
    void this.#on.token(address).then((found) => {
      if (this.#input.value.trim() === address && this.#isTyping) this.#showList(found)
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
    const text = this.#input.value.trim().replace(/[\s/]+/g, '-')
    const exact = this.#suggestions.find(({ pair }) => pair.toUpperCase() === text.toUpperCase())
    const best = marked ?? exact ?? this.#options[0]?.suggestion
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
    this.#showList(matching(this.#suggestions, text))
  }

  #showList(found: readonly Suggestion[]): void {
    this.#options = found.map((suggestion, index) => {
      const item = toItem(suggestion, index)
      // The field keeps the focus; otherwise the list closes before the click.
      item.addEventListener('pointerdown', (event) => event.preventDefault())
      item.addEventListener('click', () => this.#choose(suggestion))
      return { suggestion, item }
    })
    this.#list.replaceChildren(...this.#options.map(({ item }) => item))
    this.#list.hidden = this.#options.length === 0
    this.#input.setAttribute('aria-expanded', String(!this.#list.hidden))
    this.#activate(-1)
  }

  #close(): void {
    this.#isTyping = false
    this.#list.hidden = true
    this.#options = []
    this.#input.setAttribute('aria-expanded', 'false')
    this.#input.removeAttribute('aria-activedescendant')
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
  const changed = change === undefined ? '' : `${change < 0 ? '−' : '+'}${Math.abs(change * 100).toFixed(2)}%`
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
