/// <reference lib="dom" />
/** The pools of a pair, by value. */
import { make, part } from '../lib/dom.ts'
import { dollarText, feeText, shortId, title } from '../lib/format.ts'
import type { ShownPool } from './scene.ts'

export type Pools = {
  show(listings: readonly ShownPool[], chosen: ShownPool | undefined): void
  /** Selects the pool of the chart. */
  choose(chosen: ShownPool): void
}

export function openPools(onChoose: (listing: ShownPool) => void): Pools {
  const select = part('pools', HTMLSelectElement)
  let shown: readonly ShownPool[] = []
  let selected = -1
  select.addEventListener('change', () => {
    const listing = shown[select.selectedIndex]
    // The chart shows the previous pool until candles of this one have arrived.
    select.selectedIndex = selected
    if (listing) onChoose(listing)
  })
  function choose(chosen: ShownPool | undefined): void {
    selected = shown.findIndex(({ id, network }) => id === chosen?.id && network === chosen.network)
    select.selectedIndex = selected
  }
  return {
    show(listings, chosen) {
      shown = listings
      select.replaceChildren(...listings.map((listing) => make('option', {}, describe(listing))))
      choose(chosen)
      select.hidden = listings.length === 0
    },
    choose,
  }
}

function describe({ id, network, pool }: ShownPool): string {
  if (pool === undefined) return `${title(network)}, ${shortId(id)}`
  const { feeTier, protocolVersion, totalValueLockedUSD } = pool
  const value = Number(totalValueLockedUSD)
  const worth = value === 0 ? shortId(id) : dollarText(value)
  return `${title(network)} ${protocolVersion.replace('dex-', '')}, ${feeText(feeTier)}, ${worth}`
}
