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

export function openPicker(on: {
  pair(pair: string): void
  pool(id: string, network?: string): void
  /** The list was opened: checks for a newer one. */
  open(): void
  /** Pairs of a token that the list does not have. */
  token(address: string): Promise<readonly Suggestion[]>
}): Picker {
  const input = part('pair', HTMLInputElement)
  const list = part('pairs', HTMLElement)
  let suggestions: readonly Suggestion[] = []
  let shown = ''
  let options: readonly { suggestion: Suggestion; item: HTMLElement }[] = []
  let active = -1
  let isTyping = false

  input.addEventListener('focus', () => input.select())
  input.addEventListener('click', () => {
    on.open()
    open('')
  })
  input.addEventListener('input', () => {
    isTyping = true
    open(input.value)
    const address = input.value.trim()
    if (options.length > 0 || !ADDRESS.test(address)) return
    void on.token(address).then((found) => {
      if (input.value.trim() === address && isTyping) show(found)
    })
  })
  input.addEventListener('blur', () => {
    close()
    input.value = shown
  })
  input.addEventListener('keydown', (event) => {
    const isOpen = !list.hidden
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1
      if (isOpen) activate((active + step + options.length) % Math.max(1, options.length))
      else {
        on.open()
        open('')
      }
    } else if (event.key === 'Enter') enter(isOpen ? options[active]?.suggestion : undefined)
    else if (event.key === 'Escape') {
      input.value = shown
      close()
    } else return
    event.preventDefault()
  })

  /** The marked suggestion, or the exact input, or its best match. */
  function enter(marked: Suggestion | undefined): void {
    const text = input.value.trim().replace(/[\s/]+/g, '-')
    const exact = suggestions.find(({ pair }) => pair.toUpperCase() === text.toUpperCase())
    const best = marked ?? exact ?? options[0]?.suggestion
    if (best !== undefined) choose(best)
    else if (text !== '') ask(text)
  }

  function ask(text: string): void {
    close()
    if (POOL.test(text)) on.pool(text.toLowerCase())
    else on.pair(text)
  }

  function choose({ pair, pool }: Suggestion): void {
    close()
    if (pool === undefined) on.pair(pair)
    else on.pool(pool.id, pool.network)
  }

  function open(text: string): void {
    show(matching(suggestions, text))
  }

  function show(found: readonly Suggestion[]): void {
    options = found.map((suggestion, index) => {
      const item = toItem(suggestion, index)
      // The field keeps the focus; otherwise the list closes before the click.
      item.addEventListener('pointerdown', (event) => event.preventDefault())
      item.addEventListener('click', () => choose(suggestion))
      return { suggestion, item }
    })
    list.replaceChildren(...options.map(({ item }) => item))
    list.hidden = options.length === 0
    input.setAttribute('aria-expanded', String(!list.hidden))
    activate(-1)
  }

  function close(): void {
    isTyping = false
    list.hidden = true
    options = []
    input.setAttribute('aria-expanded', 'false')
    input.removeAttribute('aria-activedescendant')
  }

  function activate(index: number): void {
    active = index
    for (const [at, { item }] of options.entries()) item.setAttribute('aria-selected', String(at === index))
    const item = options[index]?.item
    input.removeAttribute('aria-activedescendant')
    if (item === undefined) return
    input.setAttribute('aria-activedescendant', item.id)
    item.scrollIntoView({ block: 'nearest' })
  }

  return {
    show(pair) {
      shown = pair
      if (!isTyping) input.value = pair
    },
    offer(newer) {
      suggestions = newer
      if (!list.hidden && active === -1) open(isTyping ? input.value : '')
    },
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
