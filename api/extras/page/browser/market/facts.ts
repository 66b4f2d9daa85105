/// <reference lib="dom" />
/** Figures of the pool, in one line. */
import { make, part } from '../lib/dom.ts'
import { changeText, decimalsOf, dollarText, feeText, priceText, shortId, timeText, title } from '../lib/format.ts'
import { zoneName } from '../lib/zone.ts'
import { poolLink } from './explorer.ts'
import type { HourFlow } from './hour.ts'
import type { Scene } from './scene.ts'

export type Figures = {
  /** Direction of the price, which may differ from the pool's. */
  price: number | undefined
  /** Change of the price over 24 h: 0.01 is 1 %. */
  change: number | undefined
  /** Volume of the 24 h that end now, with its unit. */
  dayVolume: string | undefined
  hour: HourFlow | undefined
}

const NONE = '–'

export function showFacts(scene: Scene, { price, change, dayVolume, hour }: Figures, devnet: boolean): void {
  const { id, network, pool, tokens } = scene.listing
  const [base, quote] = scene.flipped ? tokens.toReversed() : tokens
  const link = devnet ? undefined : poolLink(network, id)
  const protocol = pool?.protocolVersion.replace('dex-', '') ?? (id.length === 42 ? 'v3' : 'v4')
  const venue = pool?.venue ?? 'uniswap'
  part('facts', HTMLElement).replaceChildren(
    fact(`${base} in ${quote}`, price === undefined ? NONE : priceText(price, decimalsOf(price)), 'price'),
    changeFact(change),
    fact('24 h volume', dayVolume ?? NONE),
    flowFact(hour),
    fact('Value locked', pool === undefined ? NONE : dollarText(Number(pool.totalValueLockedUSD))),
    fact('Fee', pool === undefined ? NONE : feeText(pool.feeTier)),
    fact('Liquidity', pool === undefined ? NONE : exponent(pool.liquidity), undefined, pool?.liquidity),
    fact('Network', `${title(network)} ${protocol}`),
    ...(venue === 'uniswap' ? [] : [fact('Venue', title(venue))]),
    fact(
      'Pool',
      link === undefined ? shortId(id) : make('a', { href: link, target: '_blank', rel: 'noreferrer' }, shortId(id)),
      'id',
      id,
    ),
  )
}

function changeFact(change: number | undefined): HTMLElement {
  if (change === undefined) return fact('24 h change', NONE, '', 'No price of 24 h ago is known')
  return fact('24 h change', changeText(change), change < 0 ? 'loss' : 'gain')
}

function flowFact(hour: HourFlow | undefined): HTMLElement {
  if (hour === undefined) return fact('1 h flow', NONE, 'flow')
  const { buys, sells, volume, bought, ends } = hour
  const share = volume === 0 ? '' : `${((bought / volume) * 100).toFixed(0)}% bought · `
  const until = `Until ${timeText(ends, 60)} ${zoneName(new Date(ends * 1_000))}`
  if (buys + sells === 0) return fact('1 h flow', 'No trades', 'flow', until)
  const count = (trades: number) => trades.toLocaleString('en')
  // A phone has no room for them.
  const word = (side: string, trades: number) => make('span', { class: 'word' }, ` ${side}${trades === 1 ? '' : 's'}`)
  const parts = [`${share}${count(buys)}`, word('buy', buys), ` / ${count(sells)}`, word('sell', sells)]
  return fact('1 h flow', make('span', {}, ...parts), 'flow', until)
}

function fact(name: string, value: Node | string, kind = '', whole = ''): HTMLElement {
  const attributes = { ...(kind !== '' && { class: kind }), ...(whole !== '' && { title: whole }) }
  return make('div', {}, make('dt', {}, name), make('dd', attributes, value))
}

/** Liquidity is a raw integer of up to 39 digits. */
function exponent(digits: string): string {
  return digits.length <= 6 ? Number(digits).toLocaleString('en') : Number(digits).toExponential(2).replace('e+', 'e')
}
