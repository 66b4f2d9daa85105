/// <reference lib="dom" />
/** The field for a pair or a pool's id, with suggestions: the combobox of the ARIA practices. */
import { make, part } from './dom.ts'
import { matching, type Suggestion } from './suggestions.ts'

export type Picker = { show(pair: string): void }

const POOL = /^0x(?:[0-9a-f]{40}|[0-9a-f]{64})$/i

export function openPicker(
  suggestions: readonly Suggestion[],
  on: { pair(pair: string): void; pool(id: string): void },
): Picker {
  const input = part('pair', HTMLInputElement)
  const list = part('pairs', HTMLElement)
  let shown = ''
  let options: readonly { pair: string; item: HTMLElement }[] = []
  let active = -1
  let isTyping = false

  input.addEventListener('focus', () => input.select())
  input.addEventListener('click', () => open(''))
  input.addEventListener('input', () => {
    isTyping = true
    open(input.value)
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
      else open('')
    } else if (event.key === 'Enter') choose(isOpen ? (options[active]?.pair ?? typed()) : typed())
    else if (event.key === 'Escape') {
      input.value = shown
      close()
    } else return
    event.preventDefault()
  })

  /** What was typed in full, or the best of what it may mean. */
  function typed(): string {
    const text = input.value.trim().replace(/[\s/]+/g, '-')
    if (POOL.test(text) || suggestions.some(({ pair }) => pair.toUpperCase() === text.toUpperCase())) return text
    return options[0]?.pair ?? text
  }

  function choose(text: string): void {
    if (text === '') return
    close()
    if (POOL.test(text)) on.pool(text.toLowerCase())
    else on.pair(suggestions.find(({ pair }) => pair.toUpperCase() === text.toUpperCase())?.pair ?? text)
  }

  function open(text: string): void {
    options = matching(suggestions, text).map(({ pair, names }, index) => {
      const item = make(
        'div',
        { role: 'option', id: `pair-${index}`, 'aria-selected': 'false' },
        make('strong', {}, pair),
        make('span', {}, names),
      )
      // The field keeps the focus, else the list closes before the click.
      item.addEventListener('pointerdown', (event) => event.preventDefault())
      item.addEventListener('click', () => choose(pair))
      return { pair, item }
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
  }
}
