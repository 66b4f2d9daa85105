/// <reference lib="dom" />
/** The buttons over the chart: interval, kind of price, direction. */
import { INTERVAL_RULE, parseInterval } from '../../../query/interval.ts'
import type { PairPrice } from '../../../query/query.ts'
import { openButtonGroup, part } from './lib/dom.ts'

export type Tools = {
  show(interval: string, price: PairPrice): void
  /** Marks the requested values. */
  want(interval: string, price: PairPrice): void
}

export function openTools(on: {
  interval(interval: string): void
  price(price: PairPrice): void
  flip(): void
}): Tools {
  const intervals = openButtonGroup(part('intervals', HTMLElement), choose)
  const prices = openButtonGroup(part('prices', HTMLElement), (value) =>
    on.price(value === 'spot' ? 'spot' : 'execution'),
  )
  const field = part('interval', HTMLInputElement)
  const error = part('interval-error', HTMLElement)
  part('interval-form', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    const text = field.value.trim().toLowerCase()
    if (parseInterval(text) !== undefined) return choose(text)
    field.setAttribute('aria-invalid', 'true')
    error.textContent = `Not an interval: ${INTERVAL_RULE}.`
  })
  let isTyping = false
  field.addEventListener('input', () => {
    isTyping = true
    calm()
  })
  field.addEventListener('blur', () => {
    isTyping = false
  })
  part('flip', HTMLButtonElement).addEventListener('click', on.flip)

  function choose(interval: string): void {
    isTyping = false
    calm()
    on.interval(interval)
  }

  function calm(): void {
    field.removeAttribute('aria-invalid')
    error.textContent = ''
  }

  return {
    show(interval, price) {
      intervals.show(interval)
      prices.show(price)
      intervals.want(undefined)
      prices.want(undefined)
      const isButton = document.querySelector(`#intervals [value="${interval}"]`) !== null
      // Typed text stays: candles of an earlier request may arrive meanwhile.
      if (!isTyping) field.value = isButton ? '' : interval
      field.classList.toggle('chosen', !isButton)
    },
    want(interval, price) {
      intervals.want(interval)
      prices.want(price)
    },
  }
}
