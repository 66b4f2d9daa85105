/// <reference lib="dom" />
/** The scene as a fragment of the page's address: a link to a pool opens that pool. Fragments are never sent. */
import { parseInterval } from '../../../../query/interval.ts'
import type { PairPrice } from '../../../../query/query.ts'

export type PageAddress = {
  /** Direction of the price: first token in the second. */
  pair: string | undefined
  pool: string | undefined
  network: string | undefined
  interval: string
  price: PairPrice
}

export function readAddress(): PageAddress {
  const fragment = new URLSearchParams(location.hash.slice(1))
  const interval = fragment.get('interval') ?? ''
  return {
    pair: fragment.get('pair') ?? undefined,
    pool: fragment.get('pool') ?? undefined,
    network: fragment.get('network') ?? undefined,
    interval: parseInterval(interval) === undefined ? '1m' : interval,
    price: fragment.get('price') === 'spot' ? 'spot' : 'execution',
  }
}

export function fragmentOf(place: PageAddress): string {
  const fragment = new URLSearchParams()
  for (const [name, value] of Object.entries(place)) if (value !== undefined) fragment.set(name, value)
  return fragment.toString()
}

export function writeAddress(place: PageAddress): void {
  history.replaceState(null, '', `${location.pathname}#${fragmentOf(place)}`)
}
