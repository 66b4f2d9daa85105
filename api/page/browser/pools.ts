/// <reference lib="dom" />
/** The pools of a pair, most valuable first. */
import { make, part } from './dom.ts'
import { dollarText, feeText, shortId, title } from './format.ts'
import type { Listing } from './scene.ts'

export type Pools = { show(listings: readonly Listing[], chosen: Listing | undefined): void }

export function openPools(onChoose: (listing: Listing) => void): Pools {
  const select = part('pools', HTMLSelectElement)
  let shown: readonly Listing[] = []
  select.addEventListener('change', () => {
    const listing = shown[select.selectedIndex]
    if (listing) onChoose(listing)
  })
  return {
    show(listings, chosen) {
      shown = listings
      select.replaceChildren(...listings.map((listing) => make('option', {}, describe(listing))))
      select.selectedIndex = chosen === undefined ? -1 : listings.indexOf(chosen)
      select.hidden = listings.length === 0
    },
  }
}

function describe({ id, network, pool }: Listing): string {
  if (pool === undefined) return `${title(network)}, ${shortId(id)}`
  const { feeTier, protocolVersion, totalValueLockedUSD } = pool
  const value = Number(totalValueLockedUSD)
  const worth = value === 0 ? shortId(id) : dollarText(value)
  return `${title(network)} ${protocolVersion.replace('dex-', '')}, ${feeText(feeTier)}, ${worth}`
}
